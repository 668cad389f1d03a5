from typing import Any

import pytest

from armbroker.board.board import SETTLED_S, Board, GroupChanged, PlanChanged
from armbroker.board.events import event_line
from armbroker.board.fleet import Attention, group_row, plan_number, plan_row
from armbroker.client import Resynced, Watched, WatchedDocument
from tests.armbroker.board.documents import AT, event, group, plan

CELL, PLAN = GroupChanged("cell-4"), PlanChanged(20)


def take(board: Board, *watched: Watched, now_s: float = 0.0) -> list[Any]:
    return [change for each in watched for change in board.take(each, now_s, 0.0)]


def fleet(**more: Any) -> WatchedDocument:
    return WatchedDocument("@cell-4", "fleet", group(**more))


def running(**more: Any) -> WatchedDocument:
    return WatchedDocument("@all", "plan-20", plan(**more))


def test_a_group_is_a_line() -> None:
    row = group_row("cell-4", group(overdue=1, attention=[{"arm": "r12", "why": "overdue"}]))
    assert (row.arms, row.online, row.overrides, row.overdue, row.next_end) == (3, 2, 1, 1, AT)
    assert (row.recipes, row.recipe_drift, row.plans) == ({"weld@3": 2}, 1, [20])
    assert row.attention == [Attention("r12", "overdue")]


def test_a_plan_is_a_line_with_its_rows_counted() -> None:
    row = plan_row(20, plan())
    assert (row.total, row.ended, row.wave, row.waves) == (1000, 101, 1, 3)
    assert (row.live, row.bad, row.counts["applied"]) == (True, False, 101)
    ended = plan_row(20, plan(state="ended", outcome="partial", counts={"total": 3, "applied": 2, "refused": 1}))
    assert (ended.live, ended.bad, ended.ended) == (False, True, 3)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"arm": "r1", "state": "refused", "kind": "out_of_limits", "message": "0.3 > 0.2"}, "0.3 > 0.2"),
        ({"arm": "r1", "state": "refused", "kind": "arm_away"}, "arm_away"),
        ({"arm": "r1", "state": "unknown"}, "unknown"),
        ({"arm": "r1"}, ""),
    ],
)
def test_a_row_that_failed_says_why_as_plainly_as_it_can(row: dict[str, Any], why: str) -> None:
    assert plan_row(20, plan(failed=[row, "no row"])).failed == [Attention("r1", why)]


@pytest.mark.parametrize("name", ["plan-", "plan-x", "plan-²", "20", "fleet"])
def test_other_documents_are_no_plans(name: str) -> None:
    assert (plan_number(name), plan_number("plan-20")) == (0, 20)


def test_documents_of_nonsense_make_lines_all_the_same() -> None:
    nonsense = {"arms": "3", "recipes": [1], "plans": {}, "attention": "x", "counts": 5, "waves": 7, "failed": [3]}
    assert group_row("g", nonsense).arms == plan_row(1, nonsense).total == 0


def test_the_board_tells_what_changed_and_what_is_gone() -> None:
    board = Board()
    assert take(board, fleet(), running(), fleet(), running()) == [CELL, PLAN]
    assert take(board, WatchedDocument("@cell-4", "other", {})) == []
    assert take(board, fleet(online=1)) == [CELL]
    assert board.groups["cell-4"].online == 1
    gone = (WatchedDocument("@cell-4", "fleet", None), WatchedDocument("@all", "plan-20", None))
    assert take(board, *gone, *gone) == [CELL, PLAN]
    assert not board.groups
    assert not board.plans
    assert not board.arms, "a group is no arm"


def test_what_does_not_come_again_with_the_connection_is_gone() -> None:
    board = Board()
    take(board, fleet(), running(), Resynced("", "lost"))
    take(board, running(), now_s=1.0)
    assert board.tick(1.0 + SETTLED_S, connected=True) == [CELL]
    assert list(board.plans) == [20]


@pytest.mark.parametrize(
    ("told", "about", "bad"),
    [
        (
            {
                "event": "OVERRIDE_ENDING", "until": AT, "change": None,
                "details": {"paths": ["twist_linear_soft_limit/IDLE"], "state": "live"},
            },
            f"live twist_linear_soft_limit/IDLE until {AT}", False,
        ),
        (
            {
                "event": "PLAN_ENDED", "cause": "partial", "plan": 20, "change": None,
                "details": {"method": "ApplyRecipe", "target": "@line-1", "counts": {"total": 2, "reversed": 1}},
            },
            "plan 20 ApplyRecipe @line-1 1 reversed", True,
        ),
        ({"event": "PLAN_ENDED", "cause": "done", "plan": 21, "change": None}, "plan 21", False),
        ({"event": "RECIPE_CHANGED", "change": None, "details": {"name": "weld", "version": 3}}, "weld@3", False),
    ],
)  # fmt: skip
def test_an_event_says_what_it_is_about(told: dict[str, Any], about: str, *, bad: bool) -> None:
    line = event_line("@all", event(**told))
    assert (line.about, line.bad) == (about, bad)
