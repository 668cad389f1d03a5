import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from armbroker.client import ArmClient, NoServerError, Resynced, Watched, WatchedDocument, WatchedEvent
from armbroker.client import watch as watch_module
from tests.armbroker.client.responder import Answer, Asked, Responder, always, responding
from tests.mosquitto import Mosquitto

CONNS = iter(f"monitor-{number}" for number in range(1, 1000))
LIMIT = "config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"
LOST = Resynced("", "the connection to the MQTT server was lost")


def an_event(seq: int, prev: int, epoch: int = 1, name: str = "TWIST_LINEAR_SOFT_LIMIT_CHANGED") -> dict[str, Any]:
    return {"arm": "r12", "epoch": epoch, "seq": seq, "prev": prev, "rev": seq + 1, "event": name}


def a_document(seq: int, epoch: int = 1) -> dict[str, Any]:
    return {"arm": "r12", "svc": "a", "epoch": epoch, "rev": seq + 1, "seq": seq}


@pytest.fixture
async def arm(mosquitto: Mosquitto) -> AsyncIterator[str]:
    """An arm of the test's own whose retained documents are cleared afterwards."""
    name = next(ARMS)
    yield name
    async with responding(mosquitto.port) as service:
        for document in ("config", "mode", "presence"):
            await service.publish(f"state/{name}/{document}", None, retain=True)


ARMS = iter(f"r{number}" for number in range(1, 1000))


@contextlib.asynccontextmanager
async def watching(
    server: Mosquitto, arm: str | None, answer: Answer = always
) -> AsyncIterator[tuple[Responder, Callable[[], Any]]]:
    """A service of ours that has one document out, and the next thing watched."""
    async with (
        responding(server.port, answer) as service,
        ArmClient(server.url, user="alice", conn=next(CONNS)) as client,
        client.watch(arm) as watched,
    ):
        yield service, lambda: anext(watched)


async def test_documents_come_first_then_events_once(mosquitto: Mosquitto, arm: str) -> None:
    async with watching(mosquitto, arm) as (service, following):
        await service.publish(f"state/{arm}/config", a_document(7), retain=True)
        assert await following() == WatchedDocument(arm, "config", a_document(7))
        await service.publish(f"evt/{arm}/{LIMIT}", an_event(8, 5))
        await service.publish(f"evt/{arm}/{LIMIT}", an_event(8, 5))
        await service.publish(f"evt/{arm}/mode", an_event(9, 0, name="CONTROL_MODE_CHANGED"))
        await service.publish(f"state/{arm}/config", a_document(9), retain=True)
        assert await following() == WatchedEvent(arm, an_event(8, 5))
        assert await following() == WatchedEvent(arm, an_event(9, 0, name="CONTROL_MODE_CHANGED"))
        assert await following() == WatchedDocument(arm, "config", a_document(9))
        await service.publish(f"state/{arm}/config", None, retain=True)
        assert await following() == WatchedDocument(arm, "config", None)


async def test_what_was_missed_is_fetched_page_by_page(mosquitto: Mosquitto, arm: str) -> None:
    pages = {7: ([an_event(8, 5), an_event(9, 8)], True), 9: ([an_event(10, 9)], False)}

    def get_events(asked: Asked) -> dict[str, Any]:
        events, more = pages[asked.request["params"]["after_seq"]]
        return asked.reply(result={"events": events, "first_seq": 1, "head_seq": 11, "more": more})

    async with watching(mosquitto, arm, get_events) as (service, following):
        await service.publish(f"state/{arm}/config", a_document(7), retain=True)
        await following()
        await service.publish(f"evt/{arm}/{LIMIT}", an_event(11, 10))
        assert [(await following()).event["seq"] for _ in range(4)] == [8, 9, 10, 11]
    assert [asked.method for asked in service.asked] == ["GetEvents", "GetEvents"]


async def test_a_document_ahead_of_the_events_has_them_fetched(mosquitto: Mosquitto, arm: str) -> None:
    def get_events(asked: Asked) -> dict[str, Any]:
        return asked.reply(result={"events": [an_event(8, 0)], "first_seq": 8, "head_seq": 8, "more": False})

    async with watching(mosquitto, arm, get_events) as (service, following):
        await service.publish(f"state/{arm}/config", a_document(7), retain=True)
        await following()
        await service.publish(f"state/{arm}/config", a_document(8), retain=True)
        assert await following() == WatchedEvent(arm, an_event(8, 0))
        assert await following() == WatchedDocument(arm, "config", a_document(8))


async def test_events_that_cannot_be_had_are_told(mosquitto: Mosquitto, arm: str) -> None:
    def get_events(asked: Asked) -> dict[str, Any]:
        match asked.request["params"]["after_seq"]:
            case 7:
                return asked.reply(result={"events": [], "first_seq": 9, "head_seq": 9, "more": False})
            case 10:
                return asked.refusal("unknown_arm", "never")
            case _:
                return asked.reply(result={"events": "none"})

    async with watching(mosquitto, arm, get_events) as (service, following):
        await service.publish(f"state/{arm}/config", a_document(7), retain=True)
        await following()
        for seq, why in ((10, "8 to 8 are no longer kept"), (20, "11 to 20 could not"), (30, "21 to 30 could not")):
            await service.publish(f"state/{arm}/config", a_document(seq), retain=True)
            told = await following()
            assert isinstance(told, Resynced)
            assert why in told.why
            assert await following() == WatchedDocument(arm, "config", a_document(seq))


async def test_every_arm_and_the_presence_of_the_service(mosquitto: Mosquitto, arm: str) -> None:
    async with watching(mosquitto, None) as (service, following):
        await service.publish("svc/a", {"state": "online"})
        assert await following() == WatchedDocument("a", "svc", {"state": "online"})
        await service.publish(f"state/{arm}/presence", a_document(1), retain=True)
        assert await following() == WatchedDocument(arm, "presence", a_document(1))


async def test_one_arm_is_not_told_of_others(mosquitto: Mosquitto, arm: str) -> None:
    async with (
        responding(mosquitto.port) as service,
        ArmClient(mosquitto.url, user="alice", conn=next(CONNS)) as client,
        client.watch() as everything,
        client.watch(arm) as one,
    ):
        await service.publish("state/other/config", a_document(1))
        await service.publish(f"state/{arm}/config", a_document(2), retain=True)
        assert await anext(one) == WatchedDocument(arm, "config", a_document(2))
        assert await anext(everything) == WatchedDocument("other", "config", a_document(1))


async def test_what_cannot_be_read_is_passed_over(mosquitto: Mosquitto, arm: str) -> None:
    async with watching(mosquitto, arm) as (service, following):
        for topic in (f"state/{arm}/config", f"evt/{arm}/{LIMIT}"):
            await service.client.publish(f"armbroker/v1/{topic}", b"{", 1)
            await service.publish(topic, {"epoch": "x"})
        await service.client.publish(f"armbroker/v1/evt/{arm}/{LIMIT}", b"", 1)
        await service.publish(f"state/{arm}/config", a_document(7), retain=True)
        assert await following() == WatchedDocument(arm, "config", a_document(7))


async def test_a_lost_connection_starts_anew(start_mosquitto: Callable[[str], Mosquitto]) -> None:
    server = start_mosquitto("")
    async with ArmClient(server.url, user="alice", conn="m") as client, client.watch() as watched:
        async with responding(server.port) as service:
            await service.publish("state/r12/config", a_document(7), retain=True)
            assert await anext(watched) == WatchedDocument("r12", "config", a_document(7))
        server.stop(signal.SIGKILL)
        assert await anext(watched) == LOST
        server.start()
        async with responding(server.port) as service:
            await service.publish("state/r12/config", a_document(3, epoch=2), retain=True)
            assert await anext(watched) == WatchedDocument("r12", "config", a_document(3, epoch=2))


async def test_a_slow_reader_starts_anew(mosquitto: Mosquitto, arm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "WAITING_LIMIT", 3)
    async with (
        responding(mosquitto.port) as service,
        ArmClient(mosquitto.url, user="alice", conn=next(CONNS)) as client,
        client.watch(arm) as slow,
    ):
        await service.publish(f"state/{arm}/config", a_document(1), retain=True)
        await anext(slow)
        for seq in (2, 3, 4):
            await service.publish(f"evt/{arm}/{LIMIT}", an_event(seq, seq - 1))
        await service.publish(f"state/{arm}/config", a_document(4), retain=True)
        await client.call(arm, "GetControlMode", timeout=30)
        seen: list[Watched] = [await anext(slow), await anext(slow)]
    assert seen == [
        Resynced("", "more than 3 messages were waiting to be read"),
        WatchedDocument(arm, "config", a_document(4)),
    ]


async def test_the_end_of_the_client_ends_a_watch(mosquitto: Mosquitto) -> None:
    client = ArmClient(mosquitto.url, user="alice", conn=next(CONNS))
    async with contextlib.AsyncExitStack() as later:
        async with client:
            watched = await later.enter_async_context(client.watch())
        assert await anext(watched) == LOST
        with pytest.raises(NoServerError, match="closed"):
            await anext(watched)


async def test_waiting_can_be_given_up_and_taken_up_again(mosquitto: Mosquitto, arm: str) -> None:
    def get_events(asked: Asked) -> dict[str, Any] | None:
        if len(service.asked) == 1:
            return None
        return asked.reply(result={"events": [an_event(8, 5)], "first_seq": 1, "head_seq": 9, "more": False})

    async with watching(mosquitto, arm, get_events) as (service, following):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(following(), 0.01)
        await service.publish(f"state/{arm}/config", a_document(7), retain=True)
        await following()
        await service.publish(f"evt/{arm}/{LIMIT}", an_event(9, 8))
        waiting = asyncio.ensure_future(following())
        await service.came.wait()
        waiting.cancel()
        assert [(await following()).event["seq"], (await following()).event["seq"]] == [8, 9]


async def test_a_watch_that_is_left_ends(mosquitto: Mosquitto) -> None:
    async def follow(watched: AsyncIterator[Watched]) -> list[Watched]:
        return [each async for each in watched]

    async with ArmClient(mosquitto.url, user="alice", conn=next(CONNS)) as client:
        async with client.watch("nobody") as watched:
            following = asyncio.create_task(follow(watched))
        await following
        assert await follow(watched) == []


async def test_a_bad_arm_is_named(mosquitto: Mosquitto) -> None:
    async with ArmClient(mosquitto.url, user="alice", conn=next(CONNS)) as client:
        with pytest.raises(ValueError, match="arm 'a/b'"):
            async with client.watch("a/b"):
                pass
