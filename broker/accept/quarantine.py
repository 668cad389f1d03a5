"""Messages that may have ended the process before anything of them was stored."""

from hashlib import blake2b

import msgspec

from broker.link.mqtt_link import InboundMessage
from broker.record.ledger import Ledger

STARTS = 3
"""A message, or an open change, that so many unclean ends left behind is given up."""
META_KEY = "suspects"
SUSPECTS_MOST = 1_000
"""Messages on record; more than the MQTT server has under way at once."""


class Quarantine:
    """Records each message that comes again after an unclean end, before it is decided.

    Args:
        ledger: writes the record.
        record: what the store holds under `META_KEY`.
        clean: whether the last end was clean; then nothing is suspected.
    """

    def __init__(self, ledger: Ledger, record: str, *, clean: bool) -> None:
        self._ledger = ledger
        self.watching = not clean
        """Whether anything may be suspected."""
        self.starts: dict[str, int] = msgspec.json.decode(record) if record and not clean else {}
        """The messages on record, and how often each was begun."""

    def suspects(self, message: InboundMessage) -> bool:
        """Whether a message was delivered before an unclean end."""
        return self.watching and message.dup

    async def begin(self, message: InboundMessage) -> bool:
        """Record durably that a suspect is about to be decided; False if it was so too often."""
        key = _key(message)
        self.starts[key] = starts = self.starts.pop(key, 0) + 1
        while len(self.starts) > SUSPECTS_MOST:
            del self.starts[next(iter(self.starts))]
        self._store()
        await self._ledger.store.committed()
        return starts < STARTS

    def passed(self, message: InboundMessage) -> None:
        """The decision on a message is committed: it is harmless."""
        if self.starts and self.starts.pop(_key(message), 0):
            self._store()

    def _store(self) -> None:
        self._ledger.store.batch.set_meta(META_KEY, msgspec.json.encode(self.starts).decode())
        self._ledger.store.flush_soon()


def _key(message: InboundMessage) -> str:
    topic = message.topic.encode()
    return blake2b(len(topic).to_bytes(4, "big") + topic + message.payload, digest_size=16).hexdigest()
