from collections.abc import Iterable
from typing import Any

import pytest

from armbroker.board.board import (
    EVENTS_KEPT,
    SETTLED_S,
    Board,
    Change,
    EventSeen,
    LinkChanged,
    RowChanged,
    RowGone,
    ServicesChanged,
)
from armbroker.client import Resynced, Watched, WatchedDocument
from broker.presence.document import SILENT_S
from schema.codecs.times import parse_time
from tests.armbroker.board.documents import AT, config, presence, seen, service, told

WALL_S = parse_time(AT) / 1e6


def fill(board: Board, watched: Iterable[Watched], now_s: float = 0.0, wall_s: float = WALL_S) -> list[Change]:
    return [change for each in watched for change in board.take(each, now_s, wall_s)]


@pytest.fixture
def board() -> Board:
    board = Board()
    fill(board, told())
    return board


def changed(board: Board, name: str, document: dict[str, Any] | None) -> list[Change]:
    return fill(board, [WatchedDocument("r1", name, document)])


def test_documents_make_a_row() -> None:
    board = Board()
    assert set(fill(board, told())) == {ServicesChanged(), RowChanged("r1")}
    [row] = board.rows()
    assert (row.id, row.presence, row.mode, row.authority) == ("r1", "online", "ANGULAR_JOYSTICK", "control")
    assert row.calm
    assert not board.is_old(row)


def test_what_is_known_already_is_no_change(board: Board) -> None:
    assert fill(board, told()) == []
    assert changed(board, "presence", presence(state="offline")) == [RowChanged("r1")]


def test_documents_of_other_names_are_passed_over(board: Board) -> None:
    assert changed(board, "something", {"epoch": 1, "seq": 1}) == []


def test_an_arm_is_gone_with_its_last_document(board: Board) -> None:
    cleared = [WatchedDocument("r1", name, None) for name in ("config", "reported", "mode", "effective", "presence")]
    assert fill(board, cleared) == [*[RowChanged("r1")] * 4, RowGone("r1")]
    assert board.rows() == []
    assert changed(board, "presence", None) == []


def test_events_are_kept_and_told(board: Board) -> None:
    [change] = fill(board, [seen(4)])
    assert isinstance(change, EventSeen)
    assert (change.line.seq, change.line.by, change.line.before, change.line.after) == (4, "alice/hmi", 0.5, 0.2)
    assert (change.line.item, change.line.unit) == ("twist_linear_soft_limit", "m/s")
    fill(board, [seen(number) for number in range(5, EVENTS_KEPT + 50)])
    assert len(board.events) == EVENTS_KEPT


def test_a_lost_connection_makes_everything_old_until_it_is_back(board: Board) -> None:
    [link, missing] = fill(board, [Resynced("", "the connection was lost")])
    assert link == LinkChanged()
    assert isinstance(missing, EventSeen)
    assert missing.line.reason == board.link.why == "the connection was lost"
    assert board.is_old(board.rows()[0])
    assert board.tick(1.0, connected=False) == []
    assert fill(board, [told()[0]], 2.0) == [LinkChanged()]
    assert board.link.up
    assert not board.is_old(board.rows()[0])


def test_a_connection_that_is_back_without_a_word_is_noticed(board: Board) -> None:
    fill(board, [Resynced("", "lost")])
    assert board.tick(1.0, connected=True) == [LinkChanged()]


def test_what_did_not_come_back_with_the_connection_is_gone(board: Board) -> None:
    fill(board, told("r2"))
    fill(board, [Resynced("", "lost")])
    fill(board, told("r1"), 5.0)
    assert board.tick(5.0 + SETTLED_S - 0.1, connected=True) == []
    assert board.tick(5.0 + SETTLED_S, connected=True) == [RowGone("r2")]
    assert [row.id for row in board.rows()] == ["r1"]


def test_events_that_are_missing_of_one_arm_do_not_lose_the_connection(board: Board) -> None:
    [change] = fill(board, [Resynced("r1", "no longer kept")])
    assert isinstance(change, EventSeen)
    assert (change.line.arm, change.line.bad) == ("r1", True)
    assert board.link.up


def test_a_service_that_says_offline_makes_its_arms_old(board: Board) -> None:
    assert fill(board, [WatchedDocument("main", "svc", service(state="offline"))]) == [ServicesChanged()]
    assert board.is_old(board.rows()[0])
    assert fill(board, [WatchedDocument("main", "svc", None)]) == [ServicesChanged()]
    assert board.is_old(board.rows()[0])


def test_a_service_that_falls_silent_is_told_once(board: Board) -> None:
    assert board.tick(SILENT_S, connected=True) == []
    assert board.tick(SILENT_S + 1, connected=True) == [ServicesChanged()]
    assert board.services[0].state == "silent"
    assert board.tick(SILENT_S + 2, connected=True) == []
    beat = WatchedDocument("main", "svc", service(seen_at="2026-11-30T09:12:40.000000Z"))
    assert fill(board, [beat], SILENT_S + 3) == [ServicesChanged()]
    assert board.services[0].online


def test_a_service_that_was_silent_before_is_judged_by_both_clocks() -> None:
    board = Board()
    fill(board, told(), wall_s=WALL_S + SILENT_S + 5)
    assert not board.services[0].online
    fill(board, [told()[0]], now_s=1.0)
    assert not board.services[0].online, "the same document again is no sign of life"


@pytest.mark.parametrize("rubbish", [None, 3, "x", [1], {"a": 1}])
def test_documents_of_any_form_do_no_harm(board: Board, rubbish: Any) -> None:
    for name in ("config", "mode", "presence", "reported", "effective"):
        document = dict.fromkeys(("items", "pending", "differs", "state", "hold", "control_mode", "svc"), rubbish)
        fill(board, [WatchedDocument("r1", name, {**document, "rev": rubbish, "epoch": 1, "seq": 1})])
    assert board.rows()[0].id == "r1"
    fill(board, [seen(9, change=rubbish, by=rubbish, at=rubbish)])


def test_pending_and_drift_are_counted(board: Board) -> None:
    pending = [{"item": "a", "state": "accepted"}, {"item": "b", "state": "held"}]
    changed(board, "config", config(pending=pending, differs=["gravity_vector"]))
    row = board.rows()[0]
    assert (row.pending, row.waits, row.drift, row.calm) == (2, "held", 1, False)
