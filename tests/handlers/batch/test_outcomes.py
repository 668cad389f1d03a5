import pytest

from handlers.batch.outcomes import (
    CHANGED,
    FAILURES,
    IN_FORCE,
    OUTCOMES,
    by_item,
    by_path,
    cause_of,
    failed,
    kind_of,
    outcome_of,
    worst,
)
from schema.arms import Slot
from schema.errors import ERRORS

SOME: dict[Slot, str] = {("gravity_vector", 0): "applied", ("twist_linear_soft_limit", 2): "refused"}


def test_the_outcomes_are_those_of_the_protocol_best_first() -> None:
    assert OUTCOMES == (
        "unchanged", "applied", "rounded", "clamped", "reversed", "superseded", "not_begun", "overwritten", "refused",
        "out_of_limits", "arm_not_ready", "arm_away", "held", "expired",
    )  # fmt: skip
    assert {"unchanged"} | CHANGED == IN_FORCE
    assert set(OUTCOMES) - IN_FORCE - FAILURES == {"reversed", "superseded", "not_begun"}


@pytest.mark.parametrize("outcome", OUTCOMES[4:])
def test_every_failure_has_a_kind_and_a_cause(outcome: str) -> None:
    assert kind_of(outcome) in ERRORS
    assert cause_of(outcome) in {"refused", "overwritten", "superseded", "expired"}


def test_a_refusal_is_an_outcome() -> None:
    assert outcome_of("out_of_limits") == "out_of_limits"
    assert outcome_of("implausible_value") == "refused"


def test_outcomes_are_told_by_path_and_by_item() -> None:
    assert by_path(SOME) == {"gravity_vector": "applied", "twist_linear_soft_limit/CARTESIAN_JOYSTICK": "refused"}
    assert failed(SOME) == {("twist_linear_soft_limit", 2): "refused"}
    assert worst(SOME.values()) == "refused"
    modes: dict[Slot, str] = {("twist_linear_soft_limit", 2): "held", ("twist_linear_soft_limit", 5): "applied"}
    assert by_item(SOME | modes) == {"gravity_vector": "applied", "twist_linear_soft_limit": "held"}
