"""The password as it is now: it may be exchanged while the service runs."""

import structlog

from broker.settings.records import Settings, SettingsError

log = structlog.get_logger()


class Password:
    """Asked for at each attempt to connect; while the file cannot be read, the password read last counts.

    Raises:
        SettingsError: the file cannot be read at first.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._last = settings.password()

    def __call__(self) -> str:
        """Read the file again."""
        try:
            self._last = self._settings.password()
        except SettingsError as error:
            log.warning("password_not_read", why=str(error))
        return self._last
