"""A process to be killed: opens a link, takes messages without acking them, says so, and waits."""

import asyncio
import sys

import msgspec

from broker.link.mqtt_link import LinkConfig
from tests.links import LINKS


async def hold(link_name: str, config: LinkConfig, count: int) -> None:
    """Take `count` messages, print the line `holding`, wait for the end."""
    link = LINKS[link_name](config)
    await link.open()
    messages = link.messages()
    for _ in range(count):
        await anext(messages)
    sys.stdout.write("holding\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(hold(sys.argv[1], msgspec.json.decode(sys.argv[2], type=LinkConfig), int(sys.argv[3])))
