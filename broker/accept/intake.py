"""Messages on their way to the acceptor: held back while another service may have taken our place."""

from collections.abc import AsyncIterator, Sequence

from broker.link.mqtt_link import InboundMessage, MqttLink
from broker.presence.presence import Presence


class Intake:
    """The messages of `link`, in the order of arrival."""

    def __init__(self, link: MqttLink, presence: Presence) -> None:
        self._link = link
        self._presence = presence

    async def batches(self) -> AsyncIterator[Sequence[InboundMessage]]:
        """As those of the link."""
        presence = self._presence
        async for batch in self._link.batches():
            if not presence.sure:
                await presence.made_sure()
            yield batch

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """Acknowledge messages, in the order of arrival."""
        await self._link.ack(messages)
