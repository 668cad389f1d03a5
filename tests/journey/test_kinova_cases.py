"""The Kinova cases of the vectors, each on a whole service."""

import json
from typing import Any

import pytest

from tests.vectors.kinova_cases import run_case
from tests.vectors_place import VECTORS

CASES: list[dict[str, Any]] = [json.loads(line) for line in (VECTORS / "kinova_cases.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_case_has_the_outcome_it_lists(case: dict[str, Any]) -> None:
    said = run_case(case)
    if said is not None and said.startswith("skip: "):
        pytest.skip(said)
    assert said is None


def test_a_case_with_another_outcome_is_told() -> None:
    case = {
        "model": "gen3_7dof",
        "rpc": "SetGravityVector",
        "request": {"z": -9.81},
        "outcome": {"ok": True, "events": ["TOOL_CONFIGURATION_CHANGED"]},
    }
    assert run_case(case) == "events: ['GRAVITY_VECTOR_CHANGED'], expected ['TOOL_CONFIGURATION_CHANGED']"
    assert run_case({**case, "outcome": {"joy": 1}}) == "nothing checks joy"
