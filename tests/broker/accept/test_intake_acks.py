"""Acknowledgements go out in the order of arrival."""

import asyncio

from broker.accept.intake import Acks
from broker.link.mqtt_link import InboundMessage
from tests.memory_link import MemoryLink


def message(number: int) -> InboundMessage:
    return InboundMessage(f"t{number}", b"", False, False, "", "", b"", None, None)


async def test_what_is_done_early_waits_for_what_came_before() -> None:
    link = MemoryLink(asyncio.get_running_loop())
    acks = Acks(link)
    running = asyncio.create_task(acks.run())
    tickets = acks.enter([message(number) for number in range(4)])

    async def acked_after(*numbers: int) -> list[str]:
        for number in numbers:
            acks.done(tickets[number])
        for _ in range(3):
            await asyncio.sleep(0)
        return [each.topic for each in link.acked]

    assert await acked_after(1) == []
    assert await acked_after(3) == []
    assert await acked_after(0) == ["t0", "t1"]
    assert await acked_after(2) == ["t0", "t1", "t2", "t3"]
    running.cancel()
