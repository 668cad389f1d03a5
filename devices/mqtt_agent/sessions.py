"""Which session of an arm that speaks MQTT is alive."""

from devices.mqtt_agent.birth import Birth


class Sessions:
    """Births and deaths of one arm, in whatever order they come: a session ends once, and no earlier one comes back."""

    def __init__(self) -> None:
        self.birth: Birth | None = None
        """The birth of the highest session that was heard since `await_birth`."""
        self._highest = 0
        self._ended = 0

    @property
    def living(self) -> Birth | None:
        """The birth of the session that is alive."""
        return self.birth if self.birth is not None and self.birth.session > self._ended else None

    def born(self, birth: Birth) -> bool:
        """Take a birth; False, and nothing is taken, if a later session is known."""
        if birth.session < self._highest:
            return False
        self._highest = birth.session
        self.birth = birth
        return True

    def died(self, session: int) -> None:
        """A session ended, and with it every earlier one; a later one lives on."""
        self._ended = max(self._ended, session)

    def await_birth(self) -> None:
        """What was heard may be outdated: the arm is alive once its birth is heard again."""
        self.birth = None

    def forget(self) -> None:
        """The arm was taken away: any session may come."""
        self.birth = None
        self._highest = self._ended = 0
