"""The numbers of a group: kept arm by arm, as if all were counted anew."""

import dataclasses
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from handlers.fleet.facts import Seen
from handlers.fleet.summary import ATTENTION, NUMBERS, Counted, Summary, counted
from handlers.state.arm_state import ArmState, Hold
from handlers.state.overrides import Override, Overrides
from schema.arms import Activity, Authority
from schema.envelope import Author
from schema.messages import PayloadInformation
from tests.handlers.builders import arm, never_read

AUTHOR = Author("bob", "desk", proven=True)


def override(rev: int, until_us: int, tries: int = 0) -> Override:
    return Override(rev=rev, values={}, since_us=1, until_us=until_us, by=AUTHOR, tries=tries)


def seen(presence: str = "online", **changes: Any) -> Seen:
    return Seen(dataclasses.replace(arm(), **changes), presence)


def document(*arms: tuple[str, Seen]) -> dict[str, Any]:
    summary = Summary()
    for name, one in arms:
        summary.change(name, None, counted(one))
    return summary.document()


def test_nothing_is_counted_of_nobody() -> None:
    told = document()
    assert {name: told[name] for name in NUMBERS} == dict.fromkeys(NUMBERS, 0)
    assert told["authority"] == {"observe": 0, "advise": 0, "control": 0}
    assert (told["attention"], "next_end" in told) == ([], False)


def test_each_number_counts_what_its_name_says() -> None:
    foreign = {("payload_information", 0): PayloadInformation(9.0)}
    told = document(
        ("a", seen(activity=Activity.FAULT, ready=False, authority=Authority.OBSERVE)),
        ("b", seen("held", distrust="why")),
        ("c", seen("offline", online=False, hold=Hold(AUTHOR, "work", 1))),
        ("d", seen(unsettled=3, desired=foreign)._replace(held_changes=1)),
        ("e", seen(overrides=Overrides(live=(override(7, 2_000_000), override(8, 1_000_000))))),
        ("f", seen(overrides=Overrides(returning=(override(7, 1, 2), override(8, 1))))),
        ("g", Seen(never_read(), "unknown")),
    )
    assert {name: told[name] for name in NUMBERS} == {
        "arms": 7, "online": 4, "ready": 3, "held": 1, "locked": 1, "faults": 1, "pending": 3, "held_changes": 1,
        "differs": 1, "overrides": 2, "overdue": 1, "recipe_drift": 0,
    }  # fmt: skip
    assert told["authority"] == {"observe": 1, "advise": 0, "control": 6}
    assert told["next_end"] == "1970-01-01T00:00:01.000000Z"
    assert told["attention"] == [
        {"arm": "a", "why": "fault"}, {"arm": "f", "why": "overdue"}, {"arm": "b", "why": "held"},
        {"arm": "d", "why": "differs"},
    ]  # fmt: skip


STATES = st.builds(
    Counted,
    st.tuples(*(st.integers(0, 2) for _ in NUMBERS)),
    st.sampled_from(Authority),
    st.sampled_from([None, "weld@3", "weld@4"]),
    st.sampled_from([0, 5_000_000, 9_000_000]),
)
CHANGES = st.lists(st.tuples(st.sampled_from("abcd"), st.none() | STATES), max_size=30)


@given(CHANGES)
def test_numbers_that_are_kept_are_those_of_all_arms_counted_anew(changes: list[tuple[str, Counted | None]]) -> None:
    kept, arms = Summary(), dict[str, Counted]()
    for name, after in changes:
        kept.change(name, arms.pop(name, None), after)
        if after is not None:
            arms[name] = after
    anew = Summary()
    for name, one in arms.items():
        anew.change(name, None, one)
    assert kept.document() == anew.document()


def test_the_largest_summary_is_small() -> None:
    summary, ends = Summary(), 253_402_300_799_999_999
    for number in range(10_000):
        numbers = tuple(0 if name in ATTENTION else 10**6 for name in NUMBERS)
        why = list(NUMBERS).index(ATTENTION["overdue"])
        told = (*numbers[:why], 9, *numbers[why + 1 :])
        summary.change(f"{number:x>63}", None, Counted(told, Authority.CONTROL, f"{number:y>63}@999", ends))
    head = {"arm": "@" + "g" * 63, "svc": "s" * 63, "epoch": 2**40, "rev": 0, "seq": 2**62, "at": "2" * 27}
    plans = {"plans": [2**62] * 16}
    assert len(msgspec.json.encode({**head, **summary.document(), **plans})) < 4_000


def test_an_arm_is_named_once_for_the_most_urgent_reason() -> None:
    state: ArmState = dataclasses.replace(arm(), activity=Activity.FAULT, distrust="why")
    assert document(("r1", Seen(state, "held")))["attention"] == [{"arm": "r1", "why": "fault"}]


def test_an_arm_that_is_gone_counts_no_more() -> None:
    summary, one = Summary(), counted(seen("held", distrust="another arm"))
    summary.change("r1", None, one)
    assert summary.document()["attention"] == [{"arm": "r1", "why": "held"}]
    summary.change("r1", one, None)
    assert summary.document() == document()


def test_an_arm_that_has_one_recipe_no_more_counts_under_its_other_one() -> None:
    number = dict.fromkeys(NUMBERS, 0).values()
    before, after = (Counted(tuple(number), Authority.CONTROL, recipe, 0) for recipe in ("weld@3", "weld@4"))
    summary = Summary()
    summary.change("r1", None, before)
    assert summary.document()["recipes"] == {"weld@3": 1}
    summary.change("r1", before, after)
    assert summary.document()["recipes"] == {"weld@4": 1}
