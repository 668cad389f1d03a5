from typing import Any

import pytest

from broker.record.history_entries import direction_word, history_entry
from broker.store.rows import PastChange, Terms
from schema.codecs.json_codec import pack
from schema.enums import ControlMode
from schema.messages import TwistLinearSoftLimit

MODE = ControlMode.CARTESIAN_JOYSTICK


def twist(value: float) -> bytes:
    return pack(TwistLinearSoftLimit(MODE, value))


def past(**given: Any) -> PastChange:
    known: dict[str, Any] = {
        "arm": "r12", "rev": 9, "seq": 4, "at_us": 1, "settled_at_us": 2_000_000, "user": "alice", "conn": "plc-3",
        "proven": True, "request_id": "alice/plc-3/1", "method": "SetTwistLinearSoftLimit",
        "key": "twist_linear_soft_limit", "mode": int(MODE), "before": twist(0.25), "after": twist(0.2), "reason": "",
        "state": "settled", "outcome": "applied",
    }  # fmt: skip
    return PastChange(**known | given)


def test_an_entry_tells_values_bare_and_which_way_they_went() -> None:
    entry = history_entry(past())
    assert (entry["before"], entry["after"], entry["direction"]) == (0.25, 0.2, "tightening")
    assert (entry["slot"], entry["at"]) == ("CARTESIAN_JOYSTICK", "1970-01-01T00:00:02.000000Z")


@pytest.mark.parametrize(
    ("given", "direction"),
    [
        ({"after": twist(0.3)}, "loosening"),
        ({"after": twist(0.25)}, "unchanged"),
        ({"after": None}, "loosening"),
        ({"key": "gravity_vector", "mode": 0, "before": None, "after": None}, "unordered"),
        ({"key": "control_configuration", "mode": 0, "loosening": True, "before": None, "after": b"{}"}, "loosening"),
        ({"key": "control_configuration", "mode": 0, "before": None, "after": b"{}"}, "tightening"),
        ({"key": "lock", "mode": 0, "before": None, "after": b'"x"'}, ""),
    ],
)
def test_the_direction_is_that_of_the_values(given: dict[str, Any], direction: str) -> None:
    change = past(**given)
    assert direction_word(change) == direction
    assert history_entry(change).get("direction", "") == direction


def test_an_entry_tells_the_terms_that_there_are() -> None:
    assert "until" not in history_entry(past())
    entry = history_entry(past(terms=Terms(until_us=3_000_000, recipe="weld@3", plan=17, approved_by="bob")))
    told = {name: entry[name] for name in ("until", "recipe", "plan", "approved_by")}
    assert told == {"until": "1970-01-01T00:00:03.000000Z", "recipe": "weld@3", "plan": 17, "approved_by": "bob"}
    assert "returned_from" not in entry
    assert history_entry(past(terms=Terms(returned_from=50)))["returned_from"] == 50
