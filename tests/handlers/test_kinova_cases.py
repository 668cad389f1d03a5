"""The public reports of users of real arms, as far as a decision alone tells right from wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from handlers.rpc.outcome import Proposal
from handlers.rpc_table import RPC_TABLE
from schema.codecs.plain import from_plain
from schema.errors import BrokerError
from schema.messages import ToolConfiguration
from tests.handlers.builders import MODEL, arm, decide


@pytest.fixture
def cases(vectors_dir: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (vectors_dir / "kinova_cases.jsonl").read_text().splitlines()]
    return [row for row in rows if "rpc" in row]


def decided(case: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    state, request = arm(strict=strict), RPC_TABLE[case["rpc"]].request
    assert request is not None
    if "state" in case:
        assert list(case["state"]) == ["tool"]
        state.desired["tool_configuration", 0] = from_plain(case["state"]["tool"], ToolConfiguration)
    try:
        outcome = decide(state, case["rpc"], from_plain(case["request"], request))
    except BrokerError as error:
        told = {"code": error.code, "sub_code": error.sub_code, "name": error.name, "kind": error.kind}
        paths = [violation.path for violation in error.violations]
        suggest = [violation.suggest for violation in error.violations]
        return {"ok": False, "error": told, "warnings": [], "violations": paths, "suggest": suggest}
    assert isinstance(outcome, Proposal)
    return {"ok": True, "warnings": [warning.name for warning in outcome.warnings]}


def test_every_reported_case_is_decided_as_it_should_have_been(cases: list[dict[str, Any]]) -> None:
    assert len(cases) == 6
    for case in cases:
        assert case["model"] == MODEL.name
        for strict in (False, True):
            expected = case["outcome"].get("strict_mode", case["outcome"]) if strict else case["outcome"]
            found = decided(case, strict=strict)
            for key in ("ok", "error", "warnings", "violations"):
                if key in expected:
                    assert (case["id"], found[key]) == (case["id"], expected[key])
            if "suggest" in expected:
                assert {tuple(value) for value in found["suggest"]} == {tuple(expected["suggest"])}
