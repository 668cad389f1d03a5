"""What clients may publish through a real Mosquitto: both links stay, and whoever can be served is."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import LinkConfig
from tests.links import PATIENCE_S, settled
from tests.mosquitto import Mosquitto
from tests.odd_clients import send
from tests.odd_packets import ODD, PASSED_ON


@pytest.fixture(params=[False, True], ids=["as the service's", "as the agents'"])
async def link(request: pytest.FixtureRequest, mosquitto: Mosquitto, name: str) -> AsyncIterator[Mqtt5Link]:
    """A link that reads `<name>/#`, what is retained too (as that of the agents does) or not."""
    retained = bool(request.param)
    made = Mqtt5Link(
        LinkConfig(
            url=mosquitto.url,
            client_id=name,
            filters=(f"{name}/#",),
            retained=retained,
            session_expiry_s=0 if retained else 60,
        )
    )
    await made.open()
    yield made
    await made.close()


async def seen(link: Mqtt5Link) -> set[str]:
    """The topics of what came before the payload `last`, their last level; all is acknowledged."""
    names: set[str] = set()
    async with asyncio.timeout(PATIENCE_S):
        async for batch in link.batches():
            await link.ack(batch)
            names |= {message.payload.decode() for message in batch}
            if "last" in names:
                break
    return names


async def test_whatever_a_client_publishes_the_link_stays(link: Mqtt5Link, mosquitto: Mosquitto, name: str) -> None:
    for number, odd in enumerate(ODD.values()):
        send(mosquitto, f"{name}/{number}".encode(), odd.name.encode(), odd.properties)
    await settled([link.publish(f"{name}/last", b"last")])
    assert await seen(link) >= set(PASSED_ON)
    assert link.counts.connections == 1
    assert link.connected
    assert link.held_bytes == 0


async def test_a_retained_message_of_any_kind_is_met_at_each_connection(mosquitto: Mosquitto, name: str) -> None:
    for number, odd in enumerate(ODD.values()):
        send(mosquitto, f"{name}/{number}".encode(), odd.name.encode(), odd.properties, retain=True)
    config = LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/#",), retained=True, session_expiry_s=0)
    for _ in range(2):
        link = Mqtt5Link(config)
        await link.open()
        await settled([link.publish(f"{name}/last", b"last")])
        assert await seen(link) >= set(PASSED_ON)
        assert link.counts.connections == 1
        await link.close()
    for number in range(len(ODD)):
        send(mosquitto, f"{name}/{number}".encode(), b"", b"", retain=True)
