import json
from typing import Any

import pytest

from armbroker.board.board import Board
from armbroker.client import Resynced, WatchedDocument
from armbroker.web.stream import EVENTS_FIRST, EVENTS_WAITING, Viewer
from tests.armbroker.board.documents import group, plan, presence, seen, told


def read(message: bytes) -> tuple[str, dict[str, Any]]:
    """Name and document of one server-sent event."""
    event, data = message.decode().removesuffix("\n\n").split("\n")
    return event.removeprefix("event: "), json.loads(data.removeprefix("data: "))


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def viewer(board: Board) -> Viewer:
    one = Viewer(board)
    for each in told():
        one.note(board.take(each, 0.0, 0.0))
    return one


def test_a_page_begins_with_everything(viewer: Viewer) -> None:
    event, document = read(viewer.whole())
    assert event == "all"
    assert [row["id"] for row in document["rows"]] == ["r1"]
    assert document["services"][0]["instance"] == "main"
    assert document["link"] == {"up": True, "why": ""}
    assert read(viewer.delta()) == ("delta", {})


def test_of_an_arm_it_is_the_latest_that_is_told(board: Board, viewer: Viewer) -> None:
    viewer.whole()
    for state in ("offline", "online", "held"):
        viewer.note(board.take(WatchedDocument("r1", "presence", presence(state=state)), 0.0, 0.0))
    _, document = read(viewer.delta())
    assert [row["presence"] for row in document["rows"]] == ["held"]
    assert document.keys() == {"rows"}


def test_an_arm_that_is_gone(board: Board, viewer: Viewer) -> None:
    viewer.whole()
    for each in told()[1:]:
        viewer.note(board.take(WatchedDocument("r1", each.name, None), 0.0, 0.0))
    assert read(viewer.delta())[1] == {"gone": ["r1"]}


def test_groups_and_plans_are_told_as_they_change(board: Board, viewer: Viewer) -> None:
    viewer.whole()
    for arm, name, document in (("@cell-4", "fleet", group()), ("@all", "plan-20", plan())):
        viewer.note(board.take(WatchedDocument(arm, name, document), 0.0, 0.0))
    _, document = read(viewer.delta())
    assert [row["name"] for row in document["groups"]] == ["cell-4"]
    assert [row["plan"] for row in document["plans"]] == [20]
    assert [len(read(viewer.whole())[1][part]) for part in ("groups", "plans")] == [1, 1]
    for arm, name in (("@cell-4", "fleet"), ("@all", "plan-20")):
        viewer.note(board.take(WatchedDocument(arm, name, None), 0.0, 0.0))
    assert read(viewer.delta())[1] == {"groups_gone": ["cell-4"], "plans_gone": [20]}


def test_events_that_are_too_many_are_counted(board: Board, viewer: Viewer) -> None:
    viewer.whole()
    for number in range(EVENTS_WAITING + 7):
        viewer.note(board.take(seen(number), 0.0, 0.0))
    _, document = read(viewer.delta())
    assert (len(document["events"]), document["skipped"]) == (EVENTS_WAITING, 7)
    assert document["events"][-1]["seq"] == EVENTS_WAITING + 6
    assert len(read(viewer.whole())[1]["events"]) == EVENTS_FIRST


def test_a_lost_connection_is_told(board: Board, viewer: Viewer) -> None:
    viewer.whole()
    viewer.note(board.take(Resynced("", "lost"), 0.0, 0.0))
    assert read(viewer.delta())[1]["link"] == {"up": False, "why": "lost"}
