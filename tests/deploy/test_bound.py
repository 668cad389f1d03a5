"""Client ids and the service's session: what the plain listener leaves open, and what the bound ones close."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import aiomqtt
import pytest

from armbroker import NoReplyError
from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import LinkConfig, LinkError
from tests.deploy.bound import SERVICE_ID, BoundPlant
from tests.journey.certified import online
from tests.links import PATIENCE_S, peer
from tests.mosquitto import Mosquitto


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[BoundPlant]:
    """The plant, running."""
    plant = BoundPlant(tmp_path)
    plant.server.start()
    yield plant
    plant.server.stop()


async def test_a_foreign_user_with_the_clients_id_of_the_service_is_only_itself(bound: BoundPlant) -> None:
    with bound.service() as service:
        async with bound.client("alice", "alice") as alice:
            await online(alice)
            taken = f"as {SERVICE_ID} "
            before = bound.server.log.count(taken)
            for conn in (SERVICE_ID, f"{SERVICE_ID}-read", f"{SERVICE_ID}-dev"):
                link = Mqtt5Link(bound.config("bob", conn))
                await link.open()
                await link.close()
            assert (await alice.call("r12", "WhoAmI", timeout=PATIENCE_S))["ok"]
        assert service.poll() is None
    assert bound.server.log.count(taken) == before == 1
    assert "as bob " in bound.server.log
    assert "mqtt_connection_lost" not in bound.log


async def test_nobody_else_gets_in_where_the_service_does(bound: BoundPlant) -> None:
    port = bound.service_port
    for config in (
        bound.config("svc", SERVICE_ID, port=port),
        bound.config("alice", SERVICE_ID, port=port, certs="people"),
        bound.config("svc", SERVICE_ID, port=port, certs="people"),
    ):
        with pytest.raises(LinkError):
            await Mqtt5Link(config).open()
    service = Mqtt5Link(bound.config("svc", SERVICE_ID, port=port, certs="service"))
    await service.open()
    await service.close()


async def test_requests_that_wait_for_the_service_are_not_taken(bound: BoundPlant) -> None:
    with bound.service():
        async with bound.client("alice", "alice") as alice:
            await online(alice)
    async with bound.client("alice", "alice") as alice:
        asked = asyncio.create_task(alice.call("r12", "WhoAmI", timeout=PATIENCE_S))
        thief = Mqtt5Link(bound.config("bob", SERVICE_ID))
        assert await thief.open() is False
        await thief.close()
        with bound.service():
            assert (await asked)["ok"]


async def test_a_client_has_to_call_itself_by_its_user(bound: BoundPlant) -> None:
    with bound.service():
        async with bound.client("alice", "alice") as alice:
            await online(alice)
        async with bound.client("alice", "hmi-1") as other:
            with pytest.raises(NoReplyError):
                await other.call("r12", "WhoAmI", timeout=1.0)


async def test_on_the_plain_listener_the_secret_of_the_id_is_what_keeps_others_out(plant: Mosquitto) -> None:
    password = plant.passwords["svc"]
    config = LinkConfig(url=plant.url, client_id=SERVICE_ID, filters=("a",), user="svc", password=password)
    service = Mqtt5Link(config)
    await service.open()
    lost = asyncio.Event()
    service.on_session(lambda _: None, lost.set)
    thief = peer(
        plant.port, SERVICE_ID, user="bob", password=plant.passwords["bob"], protocol=aiomqtt.ProtocolVersion.V311
    )
    async with thief:
        await asyncio.wait_for(lost.wait(), PATIENCE_S)
    await service.close()
