import pytest

from handlers.plans.rows import LONGEST_MESSAGE, Row, RowState, Tally
from handlers.plans.states import PlanOutcome
from schema.envelope import Stage

R = RowState


def tally(*states: RowState, open_rows: int = 0) -> Tally:
    return Tally({state: states.count(state) for state in RowState}, len(states), open_rows)


@pytest.mark.parametrize(
    ("states", "stage", "ok", "outcome"),
    [
        ((R.APPLIED, R.UNCHANGED), Stage.APPLIED, True, PlanOutcome.DONE),
        ((R.APPLIED, R.STORED), Stage.STORED, True, PlanOutcome.DONE),
        ((R.APPLIED, R.WAITING), Stage.STORED, True, PlanOutcome.DONE),
        ((R.APPLIED, R.UNKNOWN), Stage.STORED, False, PlanOutcome.PARTIAL),
        ((R.APPLIED, R.REFUSED), Stage.REFUSED, False, PlanOutcome.PARTIAL),
        ((R.CHECKED, R.STORED), Stage.CHECKED, True, PlanOutcome.DONE),
        ((R.REFUSED, R.SKIPPED), Stage.REFUSED, False, PlanOutcome.REFUSED),
        ((R.SKIPPED, R.APPLIED), Stage.APPLIED, True, PlanOutcome.DONE),
        ((R.SKIPPED,), Stage.CHECKED, True, PlanOutcome.DONE),
        ((R.REVERSED, R.KEPT), Stage.REFUSED, False, PlanOutcome.DONE),
        ((R.KEPT,), Stage.APPLIED, True, PlanOutcome.DONE),
    ],
)
def test_rows_say_together_what_the_least_of_them_says(
    states: tuple[RowState, ...], stage: Stage, ok: bool, outcome: PlanOutcome
) -> None:
    found = tally(*states)
    assert (found.stage, found.ok, found.outcome) == (stage, ok, outcome)


def test_ruling_42_one_row_that_is_observed_makes_the_whole_checked() -> None:
    found = tally(*[R.APPLIED] * 39, R.CHECKED)
    assert (found.stage, found.ok) == (Stage.CHECKED, True)


def test_a_plan_that_was_taken_back_is_reversed_unless_something_is_kept() -> None:
    assert tally(R.REVERSED, R.SKIPPED).outcome_of_reversal is PlanOutcome.REVERSED
    assert tally(R.REVERSED, R.KEPT).outcome_of_reversal is PlanOutcome.PARTIAL
    assert tally(R.REVERSED, R.UNKNOWN).outcome_of_reversal is PlanOutcome.PARTIAL


def test_final_is_when_no_row_is_open() -> None:
    assert tally(R.APPLIED).final
    assert not tally(R.STORED, open_rows=1).final


def test_counts_leave_out_states_without_rows() -> None:
    assert tally(R.APPLIED, R.REFUSED, R.APPLIED).shown() == {"total": 3, "applied": 2, "refused": 1}


def test_what_did_not_succeed_is_named_as_far_as_there_is_room() -> None:
    one = [Row("r13", R.REFUSED, kind="out_of_limits")]
    assert tally(R.APPLIED, R.APPLIED, R.REFUSED).told(one) == "1 of 3 arms did not take it: r13 out_of_limits."
    rows = [Row(f"r{number}", R.UNKNOWN) for number in range(10)]
    text = tally(*[R.UNKNOWN] * 10).told(rows)
    assert text.startswith("10 of 10 arms did not take it: r0 unknown, r1 unknown")
    assert text.endswith("r7 unknown and 2 more.")


def test_a_row_shows_what_there_is_of_it() -> None:
    shown = Row("r1", R.APPLIED, final=True, rev=9, seq=4).shown()
    assert shown == {"arm": "r1", "state": "applied", "final": True, "rev": 9, "seq": 4}
    shown = Row("r1", R.REFUSED, kind="held", name="DEVICE_NOT_READY", message="x" * 300).shown()
    assert (shown["kind"], shown["name"], len(shown["message"])) == ("held", "DEVICE_NOT_READY", LONGEST_MESSAGE)


def test_a_row_is_under_way_between_its_acceptance_and_its_end() -> None:
    given = ((R.WAITING, 0), (R.WAITING, 7), (R.STORED, 7))
    assert [Row("r1", state, change_n=n).under_way for state, n in given] == [False, True, False]
