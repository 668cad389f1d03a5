"""What a Kinova arm tells by itself: events to changes, ours told from those of others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from devices.adapter import ArmChange
from devices.kortex.calls import EVENT_ITEMS, MODE_SLOT
from schema.arms import Slot
from schema.codecs.protobuf import decode_message
from schema.errors import BrokerError
from schema.items import slots_of
from schema.messages import Connection, ControlConfigurationNotification, ControlModeNotification, Message

log = structlog.get_logger()

OURS_S = 1.0
"""How long after a write of ours an event of its item may be its echo."""
TOPICS: dict[str, type[Message]] = {
    "ControlConfigurationTopic": ControlConfigurationNotification,
    "ControlModeTopic": ControlModeNotification,
}
"""The notification of each topic."""


class Events:
    """Reads notifications of one arm. `now` is a clock in seconds.

    An event names the connection that caused it. `address` is our own as the arm sees it (ip:port); where it is not
    known or not found in any event, the connection of the first echo of a write of ours is taken for ours.
    """

    def __init__(self, arm: str, now: Callable[[], float]) -> None:
        self._arm, self._now = arm, now
        self._writes: dict[str, tuple[Slot, float]] = {}
        self._foreign: set[int] = set()
        self._own = 0
        self.address = ""

    def forget(self, address: str) -> None:
        """A new session: connections have other numbers now."""
        self.address, self._own = address, 0
        self._foreign.clear()

    @contextmanager
    def writing(self, slot: Slot) -> Iterator[None]:
        """While a write of ours is with the arm."""
        self._writes[slot[0]] = (slot, float("inf"))
        try:
            yield
        finally:
            self._writes[slot[0]] = (slot, self._now() + OURS_S)

    def read(self, topic: str, payload: bytes) -> list[ArmChange]:
        """The changes that a notification tells; none where it cannot be read.

        An event has no control mode: one by another writer tells of every mode of its item.
        """
        try:
            told = decode_message(payload, TOPICS[topic], strict=False)
        except (BrokerError, LookupError) as error:
            log.warning("notification_not_read", arm=self._arm, topic=topic, why=str(error))
            return []
        if isinstance(told, ControlModeNotification):
            return [ArmChange(0, MODE_SLOT, ours=False, connection=_name(told.connection))]
        if not isinstance(told, ControlConfigurationNotification):
            return []
        name, item = _name(told.connection), EVENT_ITEMS.get(int(told.event))
        if item is None:
            return [ArmChange(int(told.event), None, ours=False, connection=name)] if told.event else []
        echo = self._echo(item)
        if self._is_ours(told.connection or Connection(), echo):
            return [ArmChange(int(told.event), echo or slots_of(item)[0], ours=True, connection=name)]
        return [ArmChange(int(told.event), slot, ours=False, connection=name) for slot in slots_of(item)]

    def _echo(self, item: str) -> Slot | None:
        """The slot whose write the event of an item may be the echo of."""
        slot, until = self._writes.get(item, (None, 0.0))
        return slot if self._now() <= until else None

    def _is_ours(self, connection: Connection, echo: Slot | None) -> bool:
        number = connection.connection_identifier
        if self.address and connection.connection_information == self.address:
            self._own = number
            return True
        if number and self._own:
            return number == self._own
        if echo is None:
            self._foreign.add(number)
            return False
        if number in self._foreign and number:
            return False
        self._own = number
        return True


def _name(connection: Connection | None) -> str:
    """How a connection is shown."""
    if connection is None:
        return ""
    return connection.connection_information or f"connection {connection.connection_identifier}"
