import asyncio
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from armbroker.client import (
    ArmClient,
    NoReplyError,
    NoServerError,
    OutcomeUnknownError,
    RefusedError,
    Resynced,
    counted_ids,
)
from schema.codecs.times import format_time, parse_time
from tests.armbroker.client.responder import Asked, responding
from tests.mosquitto import Mosquitto, free_port

CONNS = iter(f"hmi-{number}" for number in range(1, 1000))


def a_client(server: Mosquitto, **options: Any) -> ArmClient:
    return ArmClient(server.url, **{"user": "alice", "conn": next(CONNS), **options})


async def test_call_returns_the_reply_and_speaks_the_protocol(mosquitto: Mosquitto) -> None:
    async with (
        responding(mosquitto.port) as service,
        a_client(mosquitto, conn="plc-3", ids=counted_ids(7), clock=lambda: 1_800_000_000.25) as client,
    ):
        reply = await client.call("r12", "SetGravityVector", {"z": -9.81}, timeout=30, if_rev=41, dry_run=None)
    asked = service.asked[0]
    assert reply["ok"]
    assert reply["id"] == "7-000001"
    assert asked[:5] == (
        "alice",
        "plc-3",
        "r12",
        "SetGravityVector",
        {
            "id": "7-000001",
            "params": {"z": -9.81},
            "if_rev": 41,
            "issued_at": "2027-01-15T08:00:00.250000Z",
            "ttl_ms": 300_000,
        },
    )
    assert 1 <= asked.expiry_s <= 30
    assert asked.response_topic == "armbroker/v1/res/alice/plc-3/7-000001"
    assert asked.content_type == "application/json"
    assert len(asked.correlation) == 16


async def test_msgpack_and_another_root(mosquitto: Mosquitto) -> None:
    async with responding(mosquitto.port) as service, a_client(mosquitto, codec="msgpack", clock=None) as client:
        reply = await client.call("r12", "GetGravityVector", timeout=30, id="mine", keep=True)
    assert reply["method"] == "GetGravityVector"
    assert service.asked[0].content_type == "application/msgpack"
    assert service.asked[0].request == {"id": "mine"}


@pytest.mark.parametrize(
    ("method", "options", "ttl_ms", "expiry_s"),
    [
        ("SetGravityVector", {}, 300_000, 30),
        ("SetControlMode", {}, None, 2),
        ("SetControlMode", {"ttl_ms": 4_500}, 4_500, 5),
        ("SetGravityVector", {"ttl_ms": 100_000}, 100_000, 30),
        ("SetGravityVector", {"when": "idle"}, 28_800_000, 30),
        ("SetGravityVector", {"keep": True}, None, 0),
        ("SetGravityVector", {"keep": True, "ttl_ms": 9}, 9, 0),
    ],
)
async def test_what_is_not_delivered_in_time_is_dropped(
    mosquitto: Mosquitto, method: str, options: dict[str, Any], ttl_ms: int | None, expiry_s: int
) -> None:
    async with responding(mosquitto.port) as service, a_client(mosquitto) as client:
        await client.call("r12", method, timeout=30, **options)
    (asked,) = service.asked
    assert asked.request.get("ttl_ms") == ttl_ms
    assert expiry_s - 2 <= asked.expiry_s <= expiry_s
    assert abs(parse_time(asked.request["issued_at"]) - time.time_ns() / 1000) < 60e6


async def test_an_issued_at_that_is_given_stands(mosquitto: Mosquitto) -> None:
    async with responding(mosquitto.port) as service, a_client(mosquitto) as client:
        await client.call("r12", "GetGravityVector", timeout=30, issued_at="2026-01-01T00:00:00Z")
    assert service.asked[0].request["issued_at"] == "2026-01-01T00:00:00Z"


async def test_a_clock_that_is_ahead_of_the_service_is_left_out_the_next_time(mosquitto: Mosquitto) -> None:
    def choosy(asked: Asked) -> dict[str, Any]:
        return asked.refusal("issued_in_future", "same_id") if "issued_at" in asked.request else asked.reply()

    async with responding(mosquitto.port, choosy) as service, a_client(mosquitto) as client:
        assert (await client.call("r12", "SetGravityVector", {}, timeout=20))["ok"]
    first, second = service.asked
    assert first.request.pop("issued_at")
    assert first.request == second.request


async def test_a_refusal_is_raised_with_its_error(mosquitto: Mosquitto) -> None:
    async with (
        responding(mosquitto.port, lambda asked: asked.refusal("out_of_limits", "new_id")),
        a_client(mosquitto) as client,
    ):
        with pytest.raises(RefusedError, match="out_of_limits") as caught:
            await client.call("r12", "SetGravityVector", {}, timeout=30)
    assert caught.value.kind == "out_of_limits"
    assert caught.value.error["retry"] == "new_id"
    assert caught.value.reply["stage"] == "refused"


async def test_an_unknown_outcome_is_no_refusal(mosquitto: Mosquitto) -> None:
    async with (
        responding(mosquitto.port, lambda asked: asked.refusal("outcome_unknown", "repeat")),
        a_client(mosquitto) as client,
    ):
        with pytest.raises(OutcomeUnknownError):
            await client.call("r12", "SetGravityVector", {}, timeout=30)


async def test_without_a_reply_the_same_request_is_sent_again(mosquitto: Mosquitto) -> None:
    def second_time(asked: Asked) -> dict[str, Any] | None:
        return asked.reply() if len(service.asked) > 1 else None

    async with responding(mosquitto.port, second_time) as service, a_client(mosquitto) as client:
        reply = await client.call("r12", "SetGravityVector", {}, timeout=4.5)
    assert reply["ok"]
    assert len(service.asked) == 2
    assert service.asked[0]._replace(expiry_s=0) == service.asked[1]._replace(expiry_s=0)


async def test_at_the_deadline_it_says_what_is_unknown(mosquitto: Mosquitto) -> None:
    async with responding(mosquitto.port, lambda _: None) as service, a_client(mosquitto) as client:
        begun = time.monotonic()
        with pytest.raises(NoReplyError, match="unknown; ask again with id 'mine'") as caught:
            await client.call("r12", "SetGravityVector", {}, timeout=2.4, id="mine")
        assert time.monotonic() - begun >= 2.4
    assert caught.value.id == "mine"
    assert caught.value.sent == 3
    assert len(service.asked) == 3


async def test_a_busy_service_is_asked_again(mosquitto: Mosquitto) -> None:
    def third_time(asked: Asked) -> dict[str, Any]:
        return asked.reply() if len(service.asked) > 2 else asked.refusal("busy", "same_id", retry_after_ms=10)

    async with responding(mosquitto.port, third_time) as service, a_client(mosquitto) as client:
        assert (await client.call("r12", "SetGravityVector", {}, timeout=30))["ok"]
    assert len({asked.request["id"] for asked in service.asked}) == 1


async def test_a_service_that_stays_busy_is_told_at_the_deadline(mosquitto: Mosquitto) -> None:
    async with (
        responding(mosquitto.port, lambda asked: asked.refusal("busy", "same_id")) as service,
        a_client(mosquitto) as client,
    ):
        with pytest.raises(RefusedError, match="busy"):
            await client.call("r12", "SetGravityVector", {}, timeout=2.0)
    assert len(service.asked) > 1


async def test_a_copy_without_a_reply_may_have_been_accepted(mosquitto: Mosquitto) -> None:
    def first_only(asked: Asked) -> dict[str, Any] | None:
        return asked.refusal("busy", "same_id") if len(service.asked) == 1 else None

    async with responding(mosquitto.port, first_only) as service, a_client(mosquitto) as client:
        with pytest.raises(NoReplyError, match="unknown"):
            await client.call("r12", "SetGravityVector", {}, timeout=0.6)
    assert len(service.asked) > 1


async def test_replies_are_told_apart_by_correlation_data(mosquitto: Mosquitto) -> None:
    async with responding(mosquitto.port, lambda _: None) as service, a_client(mosquitto) as client:
        first = asyncio.create_task(client.call("r12", "GetGravityVector", timeout=20))
        second = asyncio.create_task(client.call("r13", "GetGravityVector", timeout=20))
        while len(service.asked) < 2:
            service.came.clear()
            await service.came.wait()
        one, two = sorted(service.asked, key=lambda asked: asked.arm)
        await service.send(two, one.reply(arm="stray"), correlation=b"someone else's")
        await service.send(two, two.reply() | {"ok": "perhaps"})
        await service.send(two, two.reply())
        await service.send(one, one.reply())
        await service.send(one, one.reply())
        assert (await second)["arm"] == "r13"
        assert (await first)["arm"] == "r12"


async def test_a_restart_of_the_mqtt_server_is_bridged(start_mosquitto: Callable[[str], Mosquitto]) -> None:
    server = start_mosquitto("")
    async with a_client(server) as client:
        async with responding(server.port, lambda _: None) as service:
            call = asyncio.create_task(client.call("r12", "SetGravityVector", {}, timeout=30, id="once"))
            await service.came.wait()
        server.stop(signal.SIGKILL)
        server.start()
        async with responding(server.port) as service:
            assert (await call)["id"] == "once"


async def test_without_a_connection_nothing_was_sent(start_mosquitto: Callable[[str], Mosquitto]) -> None:
    server = start_mosquitto("")
    async with a_client(server) as client, client.watch() as watched:
        server.stop(signal.SIGKILL)
        assert await anext(watched) == Resynced("", "the connection to the MQTT server was lost")
        with pytest.raises(NoReplyError, match="never sent") as caught:
            await client.call("r12", "SetGravityVector", {}, timeout=0.3)
    assert caught.value.sent == 0


async def test_an_absent_server_is_told() -> None:
    with pytest.raises(NoServerError, match="refused"):
        async with ArmClient(f"mqtt://127.0.0.1:{free_port()}", user="alice", conn="x"):
            pass


async def test_a_wrong_password_is_told(plant: Mosquitto) -> None:
    with pytest.raises(NoServerError, match=r"[Nn]ot authori[sz]ed"):
        async with a_client(plant, password="wrong"):
            pass


async def test_the_shipped_acl_lets_it_through(plant: Mosquitto) -> None:
    async with (
        responding(plant.port, password=plant.passwords["svc"]),
        a_client(plant, password=plant.passwords["alice"]) as client,
    ):
        assert (await client.call("r12", "GetGravityVector", timeout=30))["ok"]


async def test_another_client_of_the_same_name_ends_it() -> None:
    taken_over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """An MQTT server that grants one subscription and then says that the session was taken over."""
        await reader.read(1000)
        writer.write(bytes.fromhex("2003000000"))
        subscribe = await reader.read(1000)
        writer.write(bytes.fromhex("9004") + subscribe[2:4] + bytes.fromhex("0001"))
        await taken_over.wait()
        writer.write(bytes.fromhex("e0028e00"))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with ArmClient(f"mqtt://127.0.0.1:{port}", user="alice", conn="twin") as client:
            call = asyncio.create_task(client.call("r12", "SetGravityVector", {}, timeout=30))
            taken_over.set()
            with pytest.raises((NoReplyError, NoServerError)) as caught:
                await call
            assert "another client connected as 'twin'" in str(caught.value.__cause__ or caught.value)
            with pytest.raises(NoServerError, match="another client connected as 'twin'"):
                await client.call("r12", "GetGravityVector", timeout=30)


async def test_a_closed_client_says_so(mosquitto: Mosquitto) -> None:
    client = a_client(mosquitto)
    with pytest.raises(NoServerError, match="not connected"):
        await client.call("r12", "GetGravityVector", timeout=1)
    async with client:
        pass
    with pytest.raises(NoServerError, match="closed"):
        await client.call("r12", "GetGravityVector", timeout=1)


async def test_its_socket_does_not_delay(mosquitto: Mosquitto) -> None:
    async with a_client(mosquitto) as client:
        assert client._connection is not None
        raw = client._connection._client.result()._client.socket()
        assert isinstance(raw, socket.socket)
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    "options",
    [
        {"user": "al/ice"},
        {"conn": ""},
        {"conn": "plc 3"},
        {"root": "a/+"},
        {"root": "a/b/c/d/e/f"},
        {"codec": "xml"},
        {"url": "http://x"},
    ],
)
def test_bad_arguments_are_named(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(options)) if "url" not in options else "mqtt://"):
        ArmClient(**{"url": "mqtt://127.0.0.1", "user": "alice", "conn": "x", **options})  # type: ignore[arg-type] # mypy takes every value for a str


async def test_bad_requests_are_named(mosquitto: Mosquitto) -> None:
    async with a_client(mosquitto) as client:
        with pytest.raises(ValueError, match="arm 'a/b'"):
            await client.call("a/b", "GetGravityVector", timeout=1)
        with pytest.raises(ValueError, match="id 'a b'"):
            await client.call("a", "GetGravityVector", timeout=1, id="a b")
        with pytest.raises(ValueError, match="method ''"):
            await client.call("a", "", timeout=1)
        with pytest.raises(ValueError, match="JSON"):
            await client.call("a", "SetGravityVector", {"z": float("nan")}, timeout=1)


def test_an_unreadable_ca_file_is_told() -> None:
    async def connect() -> None:
        async with ArmClient("mqtts://127.0.0.1", user="alice", conn="x", ca_file=Path("/nowhere.pem")):
            pass

    with pytest.raises(FileNotFoundError):
        asyncio.run(connect())


async def test_services_are_online_only_if_they_were_seen(mosquitto: Mosquitto) -> None:
    now, old = format_time(time.time_ns() // 1000), "2026-01-01T00:00:00.000000Z"
    documents = {
        "here": {"state": "online", "seen_at": now},
        "silent": {"state": "online", "seen_at": old},
        "off": {"state": "offline", "seen_at": now},
        "begins": {"state": "starting", "seen_at": now},
        "earlier": {"state": "online", "since": old},
    }
    async with responding(mosquitto.port) as service, a_client(mosquitto) as client:
        try:
            for instance, document in documents.items():
                await service.publish(f"svc/{instance}", document, retain=True)
            seen = {each.instance: each for each in await client.services()}
            assert {name: seen[name].online for name in documents} == {
                "here": True, "silent": False, "off": False, "begins": False, "earlier": True,
            }  # fmt: skip
            assert old in seen["silent"].text
        finally:
            for instance in documents:
                await service.publish(f"svc/{instance}", None, retain=True)
