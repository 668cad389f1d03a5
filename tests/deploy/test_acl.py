"""The written access rules in a real Mosquitto: every pair of user and topic, both ways, against a table of our own."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import LinkConfig
from tests.links import PATIENCE_S, peer, settled
from tests.mosquitto import Mosquitto, write_acl, write_passwords

ARMS = ("r1", "r2", "r3")
SETTINGS: dict[str, Any] = {
    "root": "plant/a",
    "mqtt": {"user": "svc"},
    "clients": {
        "*": {"reads": ["r1"]},
        "alice": {"reads": ["*"]},
        "bob": {"reads": ["r1", "@cell"]},
        "wall": {"reads": ["r?"], "requests": False},
        "r3": {"reads": ["r1", "r3"]},
    },
    "arm": [
        {"id": "r1", "groups": ["line"]},
        {"id": "r2", "adapter": "mqtt_agent", "groups": ["cell"]},
        {"id": "r3", "adapter": "mqtt_agent", "groups": ["line"]},
    ],
}
OPEN = {**SETTINGS, "clients": {"bob": {}, "wall": {"requests": False}}}
READS = {"alice": (*ARMS, "r4"), "bob": ("r1", "r2"), "wall": ARMS, "r2": ("r1",), "r3": ("r1", "r3"), "eve": ("r1",)}
"""Which arms each user reads by SETTINGS; by OPEN everybody reads all."""
WHOLE = {"alice": ("@cell", "@line", "@all"), "bob": ("@cell",), "wall": ("@cell", "@line"), "r3": ("@line",)}
"""Which groups' documents; `wall` reads by a pattern, which is not all that may come."""
ASK = {"alice", "bob", "r3", "eve"}
AGENTS = {"r2", "r3"}
USERS = ("svc", "alice", "bob", "wall", "r2", "r3", "eve")
ROOT = "plant/a/v1"
CONFIG = """
listener {port} 127.0.0.1
allow_anonymous false
password_file {folder}/passwords
acl_file {folder}/armbroker.acl
user root
max_inflight_messages 1000
max_queued_messages 100000
"""


def topics() -> list[str]:
    """What somebody could try, below the root."""
    found = ["meta/service", "meta/errors", "svc/main", "svc/main/more", "odd", "../v2/x", "meta", "req", "evt", "dev"]
    for user in USERS:
        for conn in (f"{user}-1", f"{user}-2", "r1"):
            found += [f"req/{user}/{conn}/{arm}/WhoAmI" for arm in (*ARMS, "@all")]
            found += [f"req/{user}/{conn}/r1", f"req/{user}/{conn}/r1/WhoAmI/more"]
            found += [f"res/{user}/{conn}/7-1", f"res/{user}/{conn}/_", f"ntf/{user}/{conn}/3"]
        found += [f"res/{user}", f"res/{user}/a/b/c", f"ntf/{user}/x/y/z"]
    found += [f"state/@{group}/{name}" for group in ("cell", "line", "all") for name in ("fleet", "plan-3")]
    found += [f"evt/@all/{name}" for name in ("plan", "recipe", "settings")]
    for arm in (*ARMS, "r4"):
        found += [f"state/{arm}/{name}" for name in ("config", "presence", "config/more")]
        found += [f"evt/{arm}/{tail}" for tail in ("mode", "config/X", "outcome")]
        found += [f"meta/factsheet/{arm}", f"state/{arm}"]
        found += [f"dev/{arm}/{leaf}" for leaf in ("birth", "death", "ack", "report", "cmd", "other")]
    return found


def may_publish(user: str, conn: str, topic: str, ask: set[str]) -> bool:
    """What the protocol lets a user publish."""
    match topic.split("/"):
        case ["req", level, connection, _, _]:
            return level == user and connection == conn and user in ask
        case ["dev", arm, "birth" | "death" | "ack" | "report"]:
            return arm == user and user in AGENTS
        case ["dev", _, "cmd"] | ["res" | "ntf", _, _, _] | ["evt", _, _] | ["evt", _, _, _]:
            return user == "svc"
        case ["state", _, _] | ["svc", _] | ["meta", _] | ["meta", "factsheet", _] | ["meta"] | ["evt", _]:
            return user == "svc"
    return False


def may_read(user: str, topic: str, reads: dict[str, tuple[str, ...]] | None) -> bool:
    """What the protocol lets a user read; without `reads` all arms."""
    match topic.split("/"):
        case ["req", *_]:
            return user == "svc"
        case ["res" | "ntf", level, _, _]:
            return level == user
        case ["state" | "evt" as family, group, _] if group.startswith("@"):
            return reads is None or (user, family) == ("svc", "state") or group in WHOLE.get(user, ())
        case ["state", arm, _] | ["evt", arm, *_] | ["meta", "factsheet", arm]:
            if user == "svc":
                return topic.startswith(("state", "meta")) or reads is None or arm == "r1"
            return reads is None or arm in reads[user]
        case ["meta", _] | ["svc", _]:
            return True
        case ["meta"]:
            return user == "svc"
        case ["dev", arm, "cmd"]:
            return user == "svc" or (arm == user and user in AGENTS)
        case ["dev", _, "birth" | "death" | "ack" | "report"]:
            return user == "svc"
    return False


@pytest.fixture(params=["some read less", "all read all"])
def ruled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Mosquitto, bool]]:
    """A Mosquitto with the rules of SETTINGS, or of OPEN; and a user root of the test's own, who may do everything."""
    less = request.param == "some read less"
    passwords = {user: secrets.token_hex(4) for user in (*USERS, "root")}
    write_passwords(tmp_path / "passwords", passwords)
    write_acl(tmp_path / "armbroker.acl", SETTINGS if less else OPEN)
    with (tmp_path / "armbroker.acl").open("a") as rules:
        rules.write("\nuser root\ntopic readwrite #\n")
    server = Mosquitto(tmp_path, CONFIG, passwords).start()
    yield server, less
    server.stop()


async def link(server: Mosquitto, user: str, stack: AsyncExitStack) -> Mqtt5Link:
    """An open link of a user, with client id `<user>-1`."""
    password = server.passwords[user]
    config = LinkConfig(url=server.url, client_id=f"{user}-1", filters=("x",), user=user, password=password)
    opened = Mqtt5Link(config)
    await opened.open()
    stack.push_async_callback(opened.close)
    return opened


async def codes(opened: Mqtt5Link, names: list[str]) -> dict[str, bool]:
    """Which topics take a publish."""
    receipts = {topic: opened.publish(f"{ROOT}/{topic}", b"{}") for topic in names}
    await settled(list(receipts.values()))
    return {topic: receipt.reason_code() == 0 for topic, receipt in receipts.items()}


async def test_every_user_publishes_what_the_protocol_says_and_no_more(ruled: tuple[Mosquitto, bool]) -> None:
    server, less = ruled
    ask, names = ASK if less else {*ASK} - {"r3"}, topics()
    async with AsyncExitStack() as stack:
        for user in USERS:
            found = await codes(await link(server, user, stack), names)
            asks = ask if user != "svc" else {"svc"}
            wrong = {topic for topic in names if found[topic] != may_publish(user, f"{user}-1", topic, asks)}
            assert not wrong, (user, wrong)
    assert len(names) * len(USERS) > 1000


async def received(reader: aiomqtt.Client) -> set[str]:
    """What comes below the root until the barrier."""
    got: set[str] = set()
    async with asyncio.timeout(PATIENCE_S):
        async for message in reader.messages:
            topic = message.topic.value.removeprefix(f"{ROOT}/")
            if topic == "svc/barrier":
                return got
            got.add(topic)
    raise RuntimeError("no barrier")


async def test_every_user_reads_what_the_protocol_says_and_no_more(ruled: tuple[Mosquitto, bool]) -> None:
    server, less = ruled
    names = topics()
    async with AsyncExitStack() as stack:
        readers = {}
        for user in USERS:
            reader = peer(server.port, f"{user}-1", user=user, password=server.passwords[user])
            readers[user] = await stack.enter_async_context(reader)
            await reader.subscribe([("#", 1), (f"{ROOT}/svc/barrier", 1)])
        everything = await codes(await link(server, "root", stack), [*names, "svc/barrier"])
        assert all(everything.values())
        for user, reader in readers.items():
            got = await received(reader)
            expected = {topic for topic in names if may_read(user, topic, READS if less else None)}
            expected -= {topic for topic in names if topic.startswith("..")}
            assert got == expected, (user, got ^ expected)
