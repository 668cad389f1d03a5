from typing import Any

import pytest

from handlers.items.paths import CONFIG_SLOTS, PATHS_MOST, in_order, slots_named
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.items import slots

TWIST = "twist_linear_soft_limit"
JOYSTICK = (TWIST, int(ControlMode.CARTESIAN_JOYSTICK))


def test_the_slots_of_a_configuration_are_all_but_the_control_mode() -> None:
    assert set(slots()) - set(CONFIG_SLOTS) == {("control_mode", 0)}


def test_an_item_stands_for_all_its_slots() -> None:
    assert slots_named({}) is None
    assert slots_named({"items": [f"{TWIST}/CARTESIAN_JOYSTICK", "gravity_vector"]}) == frozenset({
        JOYSTICK, ("gravity_vector", 0),
    })  # fmt: skip
    found = slots_named({"items": [TWIST, f"{TWIST}/CARTESIAN_JOYSTICK"]})
    assert found is not None
    assert len(found) == 3
    assert in_order({("gravity_vector", 0), JOYSTICK}) == [("gravity_vector", 0), JOYSTICK]


@pytest.mark.parametrize(
    ("items", "kind", "words"),
    [
        (None, "malformed", "params.items: a list of at least one path is needed, got 'None'"),
        ([], "malformed", "a list of at least one path"),
        ("gravity_vector", "malformed", "a list of at least one path"),
        ({"gravity_vector": {}}, "malformed", "a list of at least one path"),
        ([3], "malformed", "params.items[0]: a path is needed"),
        ([None], "malformed", "params.items[0]"),
        (["gravity_vector", "gravity"], "unknown_enum", "params.items[1]: 'gravity' is no item"),
        ([""], "unknown_enum", "'' is no item"),
        (["x" * 500], "unknown_enum", f"'{'x' * 60}' is no item"),
        (["control_mode"], "unsupported_option", "control mode is no part"),
        (["gravity_vector/"], "unknown_enum", "gravity_vector has no slots of modes"),
        ([f"{TWIST}/"], "unknown_enum", "'' is no control mode"),
        ([f"{TWIST}/cartesian_joystick"], "unknown_enum", "did you mean"),
        ([f"{TWIST}/IDLE"], "mode_without_limit", "IDLE takes no twist_linear_soft_limit; these do: CARTESIAN_JOY"),
        ([f"{TWIST}/CARTESIAN_JOYSTICK/x"], "unknown_enum", "is no control mode"),
        (["gravity_vector"] * (PATHS_MOST + 1), "out_of_limits", "257 paths > 256"),
    ],
)
def test_what_is_no_list_of_paths_is_refused(items: Any, kind: str, words: str) -> None:
    with pytest.raises(BrokerError) as caught:
        slots_named({"items": items})
    assert caught.value.kind == kind
    assert words in caught.value.message


def test_as_many_paths_as_may_be_are_taken() -> None:
    assert slots_named({"items": ["gravity_vector"] * PATHS_MOST}) == frozenset({("gravity_vector", 0)})
