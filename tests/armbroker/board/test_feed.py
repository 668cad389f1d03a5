"""The feed over a real Mosquitto, with a stand-in for the service."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from armbroker.board import feed as feed_module
from armbroker.board.board import Board, Change, EventSeen, RowChanged
from armbroker.board.feed import Feed, History
from armbroker.client import ArmClient
from tests.armbroker.board.documents import AT, event, presence
from tests.armbroker.client.responder import Answer, Asked, responding
from tests.links import PATIENCE_S
from tests.mosquitto import Mosquitto

ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"


def change(after: float) -> dict[str, Any]:
    by = {"user": "alice", "connection": "hmi", "proven": True}
    return {"at": AT, "item": ITEM, "slot": SLOT, "before": 0.5, "after": after, "by": by, "outcome": "applied"}


async def history(server: Mosquitto, answer: Answer, board: Board | None = None) -> tuple[History, list[Asked]]:
    async with (
        responding(server.port, answer) as service,
        ArmClient(server.url, user="screen", conn="feed") as client,
    ):
        told = await Feed(client, board or Board(), lambda _: None).history("r1", ITEM, SLOT, "")
        return told, service.asked


async def test_a_history_is_asked_of_the_service(mosquitto: Mosquitto) -> None:
    result = {"changes": [change(0.2), "rubbish"], "more": True, "missing": []}
    told, [asked] = await history(mosquitto, lambda asked: asked.reply(stage="read", result=result))
    assert (asked.method, asked.request["params"]) == ("GetHistory", {"item": ITEM, "limit": 500})
    assert [point.after for point in told.points] == [0.2]
    assert told.why == f"only the last 1 changes of {ITEM} are shown"


class Told:
    """What a feed told, to be waited for."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._news = asyncio.Event()

    def __call__(self, changes: list[Change]) -> None:
        self.changes += changes
        self._news.set()

    async def until(self, wanted: Callable[[Change], bool], times: int = 1) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while sum(map(wanted, self.changes)) < times:
                self._news.clear()
                await self._news.wait()


def is_row(change: Change) -> bool:
    return change == RowChanged("r1")


def is_event(change: Change) -> bool:
    return isinstance(change, EventSeen)


async def test_a_refusal_is_told_and_what_was_seen_is_shown(mosquitto: Mosquitto) -> None:
    board, told_by_feed = Board(), Told()
    async with (
        responding(mosquitto.port, lambda _: None) as service,
        ArmClient(mosquitto.url, user="screen", conn="feed-1") as client,
    ):
        feeding = asyncio.create_task(Feed(client, board, told_by_feed).run())
        await service.publish("state/r1/presence", presence(seq=2), retain=True)
        await told_by_feed.until(is_row)
        await service.publish(f"evt/r1/config/{event()['event']}", {**event(3), "prev": 0})
        await told_by_feed.until(is_event)
        await service.publish("state/r1/presence", None, retain=True)
        feeding.cancel()
    told, _ = await history(mosquitto, lambda asked: asked.refusal("not_permitted", "never"), board)
    assert "not_permitted" in told.why
    assert "what was seen since this screen began" in told.why
    assert [(point.before, point.after, point.by) for point in told.points] == [(0.5, 0.2, "alice/hmi")]


async def test_layers_are_asked_of_the_service(mosquitto: Mosquitto) -> None:
    layer = {"layer": "soft", "source": "soft", "by": "a/b", "since": AT, "value": 1.0, "binds": True}

    def answer(asked: Asked) -> dict[str, Any]:
        if "joint" not in asked.request["params"]:
            return asked.refusal("unknown_enum", "new_id")
        return asked.reply(stage="read", result={"mode": "IDLE", "numbers": [{"stack": [layer]}]})

    async with (
        responding(mosquitto.port, answer) as service,
        ArmClient(mosquitto.url, user="screen", conn="feed-4") as client,
    ):
        feed = Feed(client, Board(), lambda _: None)
        assert (await feed.layers("r1", "velocity", "joint_1", "IDLE")).layers[0].layer == "soft"
        assert "unknown_enum" in (await feed.layers("r1", "twist_linear", "", "")).why
        assert [(asked.method, asked.request["params"]) for asked in service.asked] == [
            ("Explain", {"quantity": "velocity", "mode": "IDLE", "joint": "joint_1"}),
            ("Explain", {"quantity": "twist_linear", "mode": "UNSPECIFIED_CONTROL_MODE"}),
        ]


async def test_no_answer_says_what_it_can_mean_and_is_not_waited_for_again(
    mosquitto: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "ASK_S", 0.3)
    async with (
        responding(mosquitto.port, lambda _: None) as service,
        ArmClient(mosquitto.url, user="screen", conn="feed-3") as client,
    ):
        feed = Feed(client, Board(), lambda _: None)
        assert "may send no requests" in (await feed.history("r1", ITEM, SLOT, "")).why
        asked = len(service.asked)
        assert "may send no requests" in (await feed.history("r1", ITEM, SLOT, "")).why
        assert len(service.asked) == asked


async def test_what_was_missed_is_not_asked_for(mosquitto: Mosquitto) -> None:
    board, told = Board(), Told()
    async with (
        responding(mosquitto.port, lambda _: None) as service,
        ArmClient(mosquitto.url, user="screen", conn="feed-2") as client,
    ):
        feeding = asyncio.create_task(Feed(client, board, told).run())
        for times, seq in enumerate((2, 9), 1):
            await service.publish("state/r1/presence", presence(seq=seq), retain=True)
            await told.until(is_row, times)
        await told.until(is_event)
        assert "nothing after 2 is asked for" in board.events[0].reason
        assert service.asked == []
        await service.publish("state/r1/presence", None, retain=True)
        feeding.cancel()
