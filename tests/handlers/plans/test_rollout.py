from typing import Any

import pytest

from handlers.plans.rollout import Gate, OnFailure, Spec, Trouble, spec_of, trouble_of, waves_of
from schema.errors import BrokerError

ARMS = tuple(f"a{number:04}" for number in range(1, 1001))
PAUSE: dict[str, Any] = {"method": "SetGravityVector", "params": {}, "on_failure": "pause"}


def test_what_is_not_said_is_the_default() -> None:
    spec = spec_of(PAUSE)
    assert spec == Spec(on_failure=OnFailure.PAUSE)
    assert (spec.canary, spec.waves, spec.soak_ms, spec.row_within_ms) == (1, (100,), 60_000, 60_000)
    assert (spec.gates, spec.max_failed) == (tuple(Gate), 0)


def test_everything_can_be_said() -> None:
    said: dict[str, Any] = {
        "canary": ["a0001"], "waves": [10, 100], "soak_ms": 0, "gates": ["fault"], "max_failed": 3,
        "pause_after": [0, 2], "confirm_within_ms": 60_000, "row_within_ms": 1_000,
    }  # fmt: skip
    assert spec_of({**PAUSE, "on_failure": "reverse", **said}) == Spec(
        on_failure=OnFailure.REVERSE, canary=("a0001",), waves=(10, 100), soak_ms=0, gates=(Gate.FAULT,), max_failed=3,
        pause_after=(0, 2), confirm_within_ms=60_000, row_within_ms=1_000,
    )  # fmt: skip
    assert spec_of({**PAUSE, "gates": []}).gates == ()


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ({"on_failure": None}, "malformed", "on_failure: it is needed: reverse, pause"),
        ({"on_failure": "stop"}, "unknown_enum", "on_failure: 'stop'"),
        ({"gates": ["heat"]}, "unknown_enum", "gates: 'heat'"),
        ({"gates": "fault"}, "malformed", "gates: a list is needed"),
        ({"waves": []}, "malformed", "waves: 1 to 20 numbers"),
        ({"waves": list(range(80, 101))}, "malformed", "waves: 1 to 20 numbers"),
        ({"waves": [10, 10, 100]}, "malformed", "waves: percents have to rise"),
        ({"waves": [10, 50]}, "malformed", "waves: percents have to rise"),
        ({"waves": [0, 100]}, "out_of_limits", "waves: 0 < 1"),
        ({"waves": [100, 101]}, "out_of_limits", "waves: 101 > 100"),
        ({"pause_after": [2]}, "out_of_limits", "pause_after: 2 > 1"),
        ({"canary": 0}, "out_of_limits", "canary: 0 < 1"),
        ({"canary": 101}, "out_of_limits", "canary: 101 > 100"),
        ({"canary": []}, "malformed", "canary"),
        ({"canary": [1]}, "malformed", "canary"),
        ({"canary": ["a", "a"]}, "malformed", "canary: an arm stands twice"),
        ({"soak_ms": 86_400_001}, "out_of_limits", "soak_ms"),
        ({"max_failed": 10_001}, "out_of_limits", "max_failed"),
        ({"confirm_within_ms": 59_999}, "out_of_limits", "confirm_within_ms: 59999 < 60000"),
        ({"row_within_ms": 999}, "out_of_limits", "row_within_ms: 999 < 1000"),
        ({"speed": 1}, "unknown_field", "speed"),
    ],
)
def test_each_bound_is_refused_by_name(given: dict[str, Any], kind: str, text: str) -> None:
    params = {name: value for name, value in {**PAUSE, **given}.items() if value is not None}
    with pytest.raises(BrokerError) as refused:
        spec_of(params)
    assert refused.value.kind == kind
    assert text in refused.value.message


def sizes(spec: Spec, arms: tuple[str, ...] = ARMS) -> list[int]:
    order, first = waves_of(spec, arms, set(arms))
    assert sorted(order) == sorted(arms)
    return [*first, len(arms) - sum(first)]


def test_waves_are_percents_of_the_rest_rounded_up() -> None:
    """The first is the example of the contract: 1,000 arms, one canary, 10 and 100 percent."""
    assert sizes(Spec(on_failure=OnFailure.PAUSE, canary=("a0001",), waves=(10, 100))) == [1, 100, 899]
    assert sizes(Spec(on_failure=OnFailure.PAUSE, waves=(33, 66, 100)), ARMS[:4]) == [1, 1, 1, 1]
    assert sizes(Spec(on_failure=OnFailure.PAUSE, canary=3), ARMS[:3]) == [3]
    assert sizes(Spec(on_failure=OnFailure.PAUSE, canary=2), ARMS[:3]) == [2, 1]


def test_the_first_are_those_that_can_take_it_by_id() -> None:
    order, first = waves_of(Spec(on_failure=OnFailure.PAUSE, canary=2), ARMS[:5], {"a0005", "a0003", "a0004"})
    assert (order, first) == (("a0003", "a0004", "a0001", "a0002", "a0005"), (2,))
    with pytest.raises(BrokerError) as refused:
        waves_of(Spec(on_failure=OnFailure.PAUSE), ARMS[:2], ())
    assert refused.value.kind == "arm_away"
    with pytest.raises(BrokerError, match="no member: r9"):
        waves_of(Spec(on_failure=OnFailure.PAUSE, canary=("r9",)), ARMS[:2], ())


@pytest.mark.parametrize(
    ("failures", "reverse", "pause"),
    [
        ([], Trouble.NONE, Trouble.NONE),
        (["arm_refused"], Trouble.NONE, Trouble.NONE),
        (["arm_refused", "clamped"], Trouble.REVERSE, Trouble.PAUSE),
        (["arm_refused", "out_of_limits"], Trouble.PAUSE, Trouble.PAUSE),
        (["not_permitted", "touched"], Trouble.PAUSE, Trouble.PAUSE),
        (["offline", "offline", "offline"], Trouble.PAUSE, Trouble.PAUSE),
        (["late", "fault", "offline"], Trouble.REVERSE, Trouble.PAUSE),
        (["outcome_unknown", "overwritten"], Trouble.REVERSE, Trouble.PAUSE),
    ],
)
def test_only_what_arms_did_is_taken_back(failures: list[str], reverse: Trouble, pause: Trouble) -> None:
    """One may fail. What was refused before an arm was told, other people and lost links only pause."""
    assert trouble_of(Spec(on_failure=OnFailure.REVERSE, max_failed=1), failures) is reverse
    assert trouble_of(Spec(on_failure=OnFailure.PAUSE, max_failed=1), failures) is pause
