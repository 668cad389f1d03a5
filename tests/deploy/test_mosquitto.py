"""The shipped Mosquitto configuration and ACL, run as an installation runs them."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import aiomqtt
import pytest

from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import LinkConfig, LinkRefusedError, MqttLink
from tests.links import PATIENCE_S, peer, settled, take
from tests.mosquitto import SHIPPED, Mosquitto

ROOT = "armbroker/v1"
NOT_AUTHORIZED = 0x87
SAVING = "Saving in-memory database"
PUBLIC = (
    *(f"evt/r12/{tail}" for tail in ("config/GRAVITY_VECTOR_CHANGED", "mode", "outcome", "admin")),
    *(f"state/r12/{document}" for document in ("config", "reported", "mode", "effective", "presence")),
    *("meta/service", "meta/errors", "meta/asyncapi", "meta/factsheet/r12", "svc/main"),
)
OF_ALICE = ("res/alice/plc-3/7-000123", "ntf/alice/plc-3/1")
OF_DEVICES = ("dev/r12/cmd",)
OF_AGENTS = ("birth", "death", "ack", "report")
FORBIDDEN = (
    "req/bob/plc-3/r12/GetGravityVector",
    "req/alice/plc-4/r12/GetGravityVector",
    "req/alice/plc-3/r12",
    "req/alice/plc-3/r12/GetGravityVector/more",
    "req/ALICE/plc-3/r12/GetGravityVector",
    *(*PUBLIC, *OF_ALICE, *OF_DEVICES),
    *("dev/r12/birth", "dev/r12/report", "../v2/any"),
)
"""What alice with client id plc-3 may not publish."""


@pytest.fixture
async def links(plant: Mosquitto) -> AsyncIterator["Links"]:
    """Links to the plant, closed at the end."""
    async with AsyncExitStack() as stack:
        yield Links(plant, stack)


class Links:
    """Opens links as users of the plant."""

    def __init__(self, plant: Mosquitto, stack: AsyncExitStack) -> None:
        self._plant = plant
        self._stack = stack

    async def open(self, user: str, conn: str, *filters: str) -> MqttLink:
        """An open link of `user` with client id `conn`; filters are below the root."""
        config = LinkConfig(
            url=self._plant.url,
            client_id=conn,
            filters=tuple(f"{ROOT}/{one}" for one in filters or ("svc/+",)),
            user=user,
            password=self._plant.passwords[user],
        )
        link = Mqtt5Link(config)
        await link.open()
        self._stack.push_async_callback(link.close)
        return link


async def outcome(link: MqttLink, topic: str) -> int:
    """The reason code a publish below the root is refused with, 0 if it is taken."""
    receipt = link.publish(f"{ROOT}/{topic}", b"{}")
    await settled([receipt])
    return receipt.reason_code()


async def readable(plant: Mosquitto, links: Links, reader: aiomqtt.Client, topics: tuple[str, ...]) -> set[str]:
    """Which of `topics`, published by the service, a subscription of `reader` to everything brings."""
    service = await links.open("svc", "armbroker-main")
    got: set[str] = set()
    async with reader:
        await reader.subscribe([("#", 1), (f"{ROOT}/res/#", 1), ("$share/group/#", 1), ("$SYS/#", 1)])
        for topic in topics:
            assert await outcome(service, topic) == 0
        await reader.subscribe(f"{ROOT}/svc/barrier", qos=1)
        assert await outcome(service, "svc/barrier") == 0
        async with asyncio.timeout(PATIENCE_S):
            async for message in reader.messages:
                if message.topic.value == f"{ROOT}/svc/barrier":
                    return got
                got.add(message.topic.value.removeprefix(f"{ROOT}/"))
    raise RuntimeError(f"no barrier: {plant.log}")


async def test_a_user_may_send_requests_under_the_own_name_and_client_id(links: Links) -> None:
    service = await links.open("svc", "armbroker-main", "req/#")
    alice = await links.open("alice", "plc-3")
    assert await outcome(alice, "req/alice/plc-3/r12/GetGravityVector") == 0
    got = await take(service.messages(), 1)
    assert got[0].topic == f"{ROOT}/req/alice/plc-3/r12/GetGravityVector"


async def test_a_user_may_publish_nothing_else(links: Links, plant: Mosquitto) -> None:
    alice = await links.open("alice", "plc-3")
    assert {topic: await outcome(alice, topic) for topic in FORBIDDEN} == dict.fromkeys(FORBIDDEN, NOT_AUTHORIZED)
    service = await links.open("svc", "armbroker-main", "req/#", "state/#", "dev/#", "svc/+", "evt/#", "meta/#")
    async with peer(
        plant.port, "plc-3", user="alice", password=plant.passwords["alice"], protocol=aiomqtt.ProtocolVersion.V311
    ) as old:
        for topic in FORBIDDEN:
            await old.publish(f"{ROOT}/{topic}", "{}", qos=1)
        await old.publish(f"{ROOT}/req/alice/plc-3/r12/WhoAmI", "barrier", qos=1)
    assert (await take(service.messages(), 1))[0].payload == b"barrier"


async def test_the_account_of_an_arm_sends_no_requests(links: Links) -> None:
    arm = await links.open("r12", "r12-agent")
    assert await outcome(arm, "req/r12/r12-agent/r13/GetGravityVector") == NOT_AUTHORIZED


async def test_an_arm_speaks_for_itself_alone_and_hears_its_commands(links: Links, plant: Mosquitto) -> None:
    arm = await links.open("r12", "agent-r12", "dev/r12/cmd")
    service = await links.open("svc", "armbroker-main-dev", "dev/+/birth", "dev/+/ack")
    for leaf in OF_AGENTS:
        assert await outcome(arm, f"dev/r12/{leaf}") == 0, leaf
        assert await outcome(arm, f"dev/r13/{leaf}") == NOT_AUTHORIZED, leaf
    for topic in ("dev/r12/cmd", "dev/r12/other", "dev/r12/ack/more", *PUBLIC, *OF_ALICE):
        assert await outcome(arm, topic) == NOT_AUTHORIZED, topic
    assert {message.topic for message in await take(service.messages(), 2)} == {
        f"{ROOT}/dev/r12/birth", f"{ROOT}/dev/r12/ack"
    }  # fmt: skip
    for name in ("r13", "r12"):
        assert await outcome(service, f"dev/{name}/cmd") == 0
    assert (await take(arm.messages(), 1))[0].topic == f"{ROOT}/dev/r12/cmd"
    async with peer(plant.port, "spy", user="bob", password=plant.passwords["bob"]) as spy:
        await spy.subscribe(f"{ROOT}/dev/#", qos=1)
        await spy.subscribe(f"{ROOT}/svc/+", qos=1)
        for topic in ("dev/r12/cmd", "svc/main"):
            assert await outcome(service, topic) == 0
        message = await asyncio.wait_for(anext(aiter(spy.messages)), PATIENCE_S)
    assert message.topic.value == f"{ROOT}/svc/main"


async def test_the_service_may_publish_all_it_needs_and_no_more(links: Links) -> None:
    service = await links.open("svc", "armbroker-main")
    for topic in (*PUBLIC, *OF_ALICE, *OF_DEVICES):
        assert await outcome(service, topic) == 0, topic
    for topic in ("dev/r12/birth", "dev/r12/ack", "req/alice/plc-3/r12/WhoAmI", "svc/main/more", "../v2/any"):
        assert await outcome(service, topic) == NOT_AUTHORIZED, topic


async def test_the_service_reads_requests_and_its_own_documents(links: Links) -> None:
    service = await links.open("svc", "armbroker-main", "req/#", "state/#", "meta/#", "svc/+")
    alice = await links.open("alice", "plc-3")
    for topic in ("state/r12/config", "meta/service", "svc/main"):
        assert await outcome(service, topic) == 0
    assert await outcome(alice, "req/alice/plc-3/r12/WhoAmI") == 0
    topics = {message.topic.removeprefix(f"{ROOT}/") for message in await take(service.messages(), 4)}
    assert topics == {"state/r12/config", "meta/service", "svc/main", "req/alice/plc-3/r12/WhoAmI"}


@pytest.mark.parametrize(
    ("user", "conn", "expected"),
    [("bob", "bob-hmi", {*PUBLIC}), ("sam", "plc-3", {*PUBLIC}), ("alice", "alice-sh", {*PUBLIC, *OF_ALICE})],
)
async def test_replies_are_read_by_their_user_alone_the_rest_by_all(
    links: Links, plant: Mosquitto, user: str, conn: str, expected: set[str]
) -> None:
    reader = peer(plant.port, conn, user=user, password=plant.passwords[user])
    assert await readable(plant, links, reader, (*PUBLIC, *OF_ALICE, *OF_DEVICES)) == expected


async def test_requests_are_read_by_the_service_alone(links: Links, plant: Mosquitto) -> None:
    alice = await links.open("alice", "plc-3")
    service = await links.open("svc", "armbroker-main")
    async with peer(plant.port, "bob-hmi", user="bob", password=plant.passwords["bob"]) as bob:
        await bob.subscribe(f"{ROOT}/#", qos=1)
        assert await outcome(alice, "req/alice/plc-3/r12/WhoAmI") == 0
        assert await outcome(service, "svc/main") == 0
        message = await asyncio.wait_for(anext(aiter(bob.messages)), PATIENCE_S)
    assert message.topic.value == f"{ROOT}/svc/main"


async def test_nobody_connects_without_user_or_client_id(plant: Mosquitto) -> None:
    config = LinkConfig(url=plant.url, client_id="plc-3", filters=("a",))
    with pytest.raises(LinkRefusedError) as refused:
        await Mqtt5Link(config).open()
    assert refused.value.reason_code == NOT_AUTHORIZED
    nameless = LinkConfig(url=plant.url, client_id="", filters=("a",), user="alice", password=plant.passwords["alice"])
    with pytest.raises(LinkRefusedError):
        await Mqtt5Link(nameless).open()


def test_the_configuration_opens_the_listener_of_the_site_alone(plant: Mosquitto) -> None:
    assert re.findall(r"listen socket on port (\d+)", plant.log) == [str(plant.port)]
    unexplained = [line for line in plant.log.splitlines() if "Warning" in line and "ACL pattern" not in line]
    assert all("root" in line for line in unexplained)


def test_the_shipped_listener_is_one_with_tls_and_passwords() -> None:
    lines = (SHIPPED / "listener.conf").read_text().splitlines()
    settings = dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    assert settings["listener"] == "8883"
    assert settings["tls_version"] == "tlsv1.3"
    assert {"cafile", "certfile", "keyfile", "password_file", "acl_file", "persistence_location"} <= set(settings)


async def test_the_store_of_the_server_is_saved_by_time_and_not_for_each_change(links: Links, plant: Mosquitto) -> None:
    """A save writes everything that is retained; 100 arms are about 1.5 MB."""
    service = await links.open("svc", "armbroker-main")
    began_s, before = time.monotonic(), plant.log.count(SAVING)
    for turn in range(5):
        receipts = [
            service.publish(f"{ROOT}/state/r{arm}/config", bytes([48 + turn]) * 4_000, retain=True) for arm in range(80)
        ]
        await settled(receipts)
    assert plant.log.count(SAVING) - before <= 1 + (time.monotonic() - began_s) / 60
    plant.stop()
    assert plant.log.count(SAVING) > before
    assert (plant.folder / "mosquitto.db").stat().st_size > 80 * 4_000


def test_the_server_is_told_to_save_by_time_and_to_queue_what_is_read_back() -> None:
    lines = (SHIPPED / "armbroker.conf").read_text().splitlines()
    settings = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    assert (settings["autosave_on_changes"], settings["autosave_interval"]) == ("false", "60")
    assert int(settings["max_queued_messages"]) >= 6 * 10_000
    assert int(settings["max_packet_size"]) == 70_000
