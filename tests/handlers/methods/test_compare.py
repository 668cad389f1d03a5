from typing import Any

import msgspec
import pytest

from handlers.rpc.outcome import BlameQuery, DiffQuery
from handlers.rpc.source import RevisionSource, ViewSource
from handlers.rpc_table import RPC_TABLE
from schema.envelope import View
from schema.errors import BrokerError
from tests.handlers.builders import arm, decide, never_read, request

PAYLOAD = frozenset({("payload_information", 0)})


def test_diff_compares_what_the_arm_reports_unless_told() -> None:
    assert decide(arm(), "Diff", {"to": {"rev": 2}}) == DiffQuery(ViewSource(), RevisionSource("", 2), None)
    params: dict[str, object] = {"from": {"view": "ground"}, "to": {"arm": "r13"}, "items": ["payload_information"]}
    assert decide(arm(), "Diff", params) == DiffQuery(ViewSource("", View.GROUND), ViewSource("r13"), PAYLOAD)


def test_diff_of_a_group_has_pages() -> None:
    query = request("Diff", {"to": {"rev": 2}, "after": "r3", "limit": 7})
    found = RPC_TABLE["Diff"].decide(arm(), msgspec.structs.replace(query, arm="@cell-4"))
    assert found == DiffQuery(ViewSource(), RevisionSource("", 2), None, "r3", 7)


def test_blame_tells_of_all_values_or_some() -> None:
    assert decide(arm(), "Blame") == BlameQuery(None)
    assert decide(arm(), "Blame", {"items": ["payload_information"]}) == BlameQuery(PAYLOAD)


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("Diff", {}, "malformed"),
        ("Diff", {"from": {"rev": 1}}, "malformed"),
        ("Diff", {"to": None}, "malformed"),
        ("Diff", {"to": {}, "from": None}, "malformed"),
        ("Diff", {"to": {"rev": 1, "view": "desired"}}, "malformed"),
        ("Diff", {"to": {}, "item": "gravity_vector"}, "unknown_field"),
        ("Diff", {"to": {}, "items": []}, "malformed"),
        ("Diff", {"to": {}, "items": ["gravity_vector"] * 257}, "out_of_limits"),
        ("Blame", {"items": ["gravity"]}, "unknown_enum"),
        ("Blame", {"item": "gravity_vector"}, "unknown_field"),
    ],
)
def test_bad_params_are_refused(method: str, params: dict[str, Any], kind: str) -> None:
    with pytest.raises(BrokerError) as caught:
        decide(arm(), method, params)
    assert caught.value.kind == kind


def test_of_an_arm_that_was_never_read_nobody_is_to_blame() -> None:
    with pytest.raises(BrokerError) as caught:
        decide(never_read(), "Blame")
    assert caught.value.kind == "arm_not_read"
