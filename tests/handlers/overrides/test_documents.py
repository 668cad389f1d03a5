"""What documents and events tell of overrides."""

import pytest

from handlers.items.parts import put
from handlers.overrides import stack
from handlers.overrides.documents import override_details, override_documents
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override
from handlers.state.places import Given, Place
from schema.arms import Authority, Slot
from schema.envelope import Author
from tests.handlers.builders import arm, linear

LINEAR: Slot = ("twist_linear_soft_limit", 2)
PATH = "twist_linear_soft_limit/CARTESIAN_JOYSTICK"
SECOND = 1_000_000


def over(rev: int, number: float, plan: int = 0) -> Override:
    """An override of 10 s."""
    by = Author("alice", "hmi", proven=True)
    return Override(
        rev=rev, values={LINEAR: linear(number)}, since_us=rev * SECOND, until_us=(rev + 10) * SECOND, by=by,
        request_id=f"alice/hmi/{rev}", plan=plan,
    )  # fmt: skip


def states(state: ArmState) -> list[tuple[int, str, str]]:
    """Revision, direction and state of each."""
    return [(one["rev"], one["direction"], one["state"]) for one in override_documents(state, 0)]


def test_an_arm_without_overrides_tells_of_none() -> None:
    assert override_documents(arm(), 0) == []


def test_all_of_an_override_is_told() -> None:
    state = arm(overrides=stack.push(None, over(5, 0.4, plan=17), {LINEAR: linear(0.25)}))
    assert override_documents(state, 7 * SECOND) == [
        {
            "rev": 5, "paths": [PATH], "since": "1970-01-01T00:00:05.000000Z", "until": "1970-01-01T00:00:15.000000Z",
            "left_ms": 8_000, "by": {"user": "alice", "connection": "hmi", "proven": True}, "request_id": "alice/hmi/5",
            "plan": 17, "direction": "loosening", "state": "live", "ground": {PATH: 0.25},
        }
    ]  # fmt: skip


def test_events_tell_of_it_without_its_author() -> None:
    overrides = stack.push(None, over(5, 0.1), {LINEAR: linear(0.25)})
    assert override_details(overrides, overrides.live[0]) == {
        "rev": 5, "paths": [PATH], "since": "1970-01-01T00:00:05.000000Z", "until": "1970-01-01T00:00:15.000000Z",
        "direction": "tightening", "ground": {PATH: 0.25},
    }  # fmt: skip


def test_an_override_below_another_one_is_covered() -> None:
    overrides = stack.push(stack.push(None, over(5, 0.4), {LINEAR: linear(0.25)}), over(6, 0.1), {})
    assert states(arm(overrides=overrides)) == [(5, "loosening", "covered"), (6, "tightening", "live")]


@pytest.mark.parametrize(
    ("authority", "failed", "word"),
    [
        (Authority.CONTROL, 0, "returning"),
        (Authority.CONTROL, 1, "overdue"),
        (Authority.OBSERVE, 0, "overdue"),
    ],
    ids=["under way", "ruling 18: a write failed", "ruling 19: nothing may be written"],
)
def test_what_is_owed_is_told_until_it_is_paid(authority: Authority, failed: int, word: str) -> None:
    state = arm(authority=authority)
    state.reported[LINEAR] = linear(0.4)
    state.overrides = stack.cut(stack.push(None, over(5, 0.4), {LINEAR: linear(0.25)}), 5, (LINEAR,)).left
    if failed and state.overrides is not None:
        state.overrides = stack.failed(state.overrides, [LINEAR])
    assert states(state) == [(5, "loosening", word)]


def test_of_parts_the_ground_is_told_by_name() -> None:
    slot = ("joint_parameters", 0)
    parts = {"joint_limits.joint_1.max_velocity": 0.5, "joint_limits.joint_2.max_velocity": None}
    grounds: dict[Place, Given] = {(*slot, name): part for name, part in parts.items()}
    one = Override(
        rev=5, values={**dict.fromkeys(grounds, 0.2), LINEAR: linear(0.1)}, since_us=1, until_us=2,
        by=Author("alice", "hmi", proven=True),
    )  # fmt: skip
    state = arm(overrides=stack.push(None, one, {**grounds, LINEAR: linear(0.25)}))
    (told,) = override_documents(state, 0)
    assert told["paths"] == ["joint_parameters", PATH]
    assert told["ground"] == {"joint_parameters": parts, PATH: 0.25}


def test_a_return_of_a_part_is_overdue_where_it_tightens_and_nothing_may_be_written() -> None:
    state, place = arm(authority=Authority.OBSERVE), ("joint_limits", 0, "max_velocity[0]")
    one = Override(rev=5, values={place: 0.4}, since_us=1, until_us=2, by=Author("alice", "hmi", proven=True))
    state.reported["joint_limits", 0] = put(state, ("joint_limits", 0), state.reported["joint_limits", 0], {place: 0.4})
    state.overrides = stack.cut(stack.push(None, one, {place: 0.2}), 5, (place,)).left
    assert states(state) == [(5, "loosening", "overdue")]
    state.overrides = stack.cut(stack.push(None, one, {place: 0.6}), 5, (place,)).left
    assert states(state) == [(5, "tightening", "returning")]
