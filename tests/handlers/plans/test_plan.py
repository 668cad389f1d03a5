from typing import Any

import pytest

from handlers.plans.plan import Asked, Plan, Progress, digest_of, with_waves
from handlers.plans.rollout import OnFailure, Spec, WaveState
from handlers.plans.rows import Row, RowState
from handlers.plans.states import PlanKind, PlanOutcome, PlanState

ARMS = ("r13", "r11", "r12")
ASKED: dict[str, Any] = {
    "kind": PlanKind.GROUP, "target": "@cell-4", "method": "SetGravityVector", "params": b'{"x":0}', "arms": ARMS,
    "user": "alice", "conn": "plc", "proven": True, "id": "50", "at_us": 1_000_000, "digest": "d",
}  # fmt: skip


def plan(progress: Progress | None = None, **given: Any) -> Plan:
    return Plan(n=17, place=40, asked=Asked(**{**ASKED, **given}), progress=progress or Progress())


def test_a_plan_counts_its_rows_as_they_change() -> None:
    one = plan()
    assert (one.tally.shown(), one.tally.open, one.tally.final) == ({"total": 3, "waiting": 3}, 3, False)
    row = one.change(one.row("r11"), change_n=7)
    assert (one.under_way, one.counts[RowState.WAITING]) == (1, 3)
    one.change(row, state=RowState.APPLIED, final=True)
    one.change(one.row("r12"), state=RowState.REFUSED, final=True, kind="held")
    one.change(one.row("r13"), state=RowState.STORED)
    assert (one.under_way, one.finals, one.tally.open) == (0, 2, 1)
    assert one.tally.shown() == {"total": 3, "stored": 1, "applied": 1, "refused": 1}
    counted = one.counts.copy()
    one.recount()
    assert (+one.counts, one.finals, one.under_way) == (+counted, 2, 0)


@pytest.mark.parametrize("state", [PlanState.ENDED, PlanState.REVERSING])
def test_what_has_not_begun_is_skipped_once_nothing_begins(state: PlanState) -> None:
    one = plan()
    one.change(one.row("r11"), state=RowState.APPLIED, final=True)
    one.progress.state = state
    one.recount()
    assert one.tally.shown() == {"total": 3, "applied": 1, "skipped": 2}
    assert one.tally.final
    assert one.row("r12") == Row("r12", RowState.SKIPPED, final=True)
    one.change(one.row("r12"), state=RowState.REFUSED, final=False)
    assert (one.tally.shown(), one.tally.open) == ({"total": 3, "applied": 1, "refused": 1, "skipped": 1}, 1)


def test_rows_stand_in_the_order_of_their_arms() -> None:
    one = plan()
    one.change(one.row("r12"), state=RowState.REFUSED, final=True)
    one.change(one.row("r11"), state=RowState.UNKNOWN)
    assert [row.arm for row in one.in_order()] == ["r11", "r12", "r13"]
    assert [row.arm for row in one.failed()] == ["r11", "r12"]
    assert one.row("r13") == Row("r13")


def test_a_plan_says_what_there_is_of_it() -> None:
    assert plan().shown() == {
        "plan": 17, "kind": "group", "state": "checking",
        "by": {"user": "alice", "connection": "plc", "proven": True}, "request_id": "alice/plc/50", "target": "@cell-4",
        "method": "SetGravityVector", "digest": "d", "reason": "", "at": "1970-01-01T00:00:01.000000Z",
        "counts": {"total": 3, "waiting": 3},
    }  # fmt: skip
    ended = Progress(
        state=PlanState.ENDED, outcome=PlanOutcome.PARTIAL, why="r11", approved_by="bob", ended_at_us=2_000_000,
        due_us=5,
    )  # fmt: skip
    shown = plan(ended, until_us=3_000_000).shown()
    assert (shown["outcome"], shown["why"], shown["approved_by"]) == ("partial", "r11", "bob")
    assert [shown[name][17:19] for name in ("until", "ended_at")] == ["03", "02"]
    assert shown["expires"] == "1970-01-01T00:00:00.000005Z"
    assert plan().whole()["params"] == {"x": 0}
    assert (plan().live, plan(ended).live) == (True, False)
    assert (plan().state, plan().asked.author.user) == (PlanState.CHECKING, "alice")


def test_a_rollout_says_how_far_its_waves_got() -> None:
    rollout: dict[str, Any] = {
        "kind": PlanKind.ROLLOUT, "waves": (1, 1, 1), "rollout": Spec(on_failure=OnFailure.PAUSE),
    }  # fmt: skip
    now = Progress(state=PlanState.RUNNING, wave=1, wave_state=WaveState.SOAKING)
    waves = plan(now, **rollout).shown()["waves"]
    assert [wave["state"] for wave in waves] == ["ended", "soaking", "waiting"]
    assert [wave["arms"] for wave in waves] == [1, 1, 1]
    assert plan(**rollout).shown()["waves"][0]["state"] == "waiting"


def test_arms_behind_the_waves_take_no_part() -> None:
    put = with_waves(plan().asked, ("r12", "r11", "r13"), (1, 1))
    one = Plan(n=1, place=1, asked=put, progress=Progress())
    assert (one.sizes(), put.arms) == ([1, 1], ("r12", "r11", "r13"))


def test_its_document_names_the_first_rows_that_did_not_succeed() -> None:
    one = plan(arms=tuple(f"a{number:02}" for number in range(20)))
    for arm in reversed(one.asked.arms):
        one.change(one.row(arm), state=RowState.REFUSED, final=True, kind="held")
    assert [row["arm"] for row in one.document()["failed"]] == [f"a{number:02}" for number in range(16)]


def test_a_digest_tells_apart_all_that_is_approved() -> None:
    first = digest_of("M", {"a": 1, "b": 2}, ("r1", "r2"), {})
    assert first == digest_of("M", {"b": 2, "a": 1}, ("r2", "r1"), {})
    others = {
        digest_of("N", {"a": 1, "b": 2}, ("r1", "r2"), {}), digest_of("M", {}, ("r1", "r2"), {}),
        digest_of("M", {"a": 1, "b": 2}, ("r1",), {}), digest_of("M", {"a": 1, "b": 2}, ("r1", "r2"), {"x": 1}),
    }  # fmt: skip
    assert len(others - {first}) == 4
    assert len(first) == 16


def test_an_approval_moves_a_plan_behind_what_was_accepted_before_it() -> None:
    assert (plan().order, plan().waits) == (40, False)
    assert plan(Progress(state=PlanState.PROPOSED)).waits
    assert plan(Progress(approved_n=90)).order == 90
