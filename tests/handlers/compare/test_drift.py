"""What of the recipe that an arm had last is no longer so."""

import msgspec

from handlers.compare.drift import drift_of, recipe_document
from handlers.state.arm_state import ArmState
from handlers.state.recipes import Applied, Recipe, Shelf
from schema.arms import Slot
from schema.codecs.items_form import given_items, read_items
from schema.envelope import Author
from schema.joint_items import JointSafetyGains, JointSafetyMap
from schema.messages import GravityVector, JointSpeedSoftLimits, Message
from tests.handlers.builders import arm, linear, values

ALICE = Author("alice", "plc-3", proven=True)
TWIST, SPEEDS, GRAVITY, SAFETY = (
    ("twist_linear_soft_limit", 2), ("joint_speed_soft_limits", 1), ("gravity_vector", 0), ("joint_safety", 0),
)  # fmt: skip
ITEMS = {
    "gravity_vector": {"z": -9.81},
    "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2},
    "joint_speed_soft_limits": {"ANGULAR_JOYSTICK": [10.0] * 7},
}


def applied_to(items: dict[str, object], **reported: dict[Slot, Message]) -> ArmState:
    """An arm that had these items as its last recipe, and reports them but for some."""
    body = msgspec.json.encode({"items": items, "models": []})
    shelf = Shelf((Recipe("weld", 3, body, "9f2c41d07ab35e18", "", ALICE, 5),))
    told = values() | read_items(items) | reported.get("reported", {})
    last = Applied("weld", 3, "9f2c41d07ab35e18", 7, 1_700_000_000_000_000, ALICE)
    return arm(reported=told, recipes=shelf, applied=last)


def test_what_is_as_the_recipe_says_within_the_resolution_is_no_drift() -> None:
    state = applied_to(ITEMS, reported={SPEEDS: JointSpeedSoftLimits(1, (10.0 + 1e-3,) * 7)})
    assert drift_of(state) == []
    assert recipe_document(state) == {
        "name": "weld", "version": 3, "digest": "9f2c41d07ab35e18", "rev": 7, "at": "2023-11-14T22:13:20.000000Z",
        "by": {"user": "alice", "connection": "plc-3", "proven": True}, "drift": [],
    }  # fmt: skip


def test_every_value_that_is_another_one_or_is_missing_is_named() -> None:
    state = applied_to(ITEMS, reported={TWIST: linear(0.1), GRAVITY: GravityVector(0.0, 0.0, -9.0)})
    del state.reported[SPEEDS]
    assert drift_of(state) == [
        "gravity_vector", "joint_speed_soft_limits/ANGULAR_JOYSTICK", "twist_linear_soft_limit/CARTESIAN_JOYSTICK",
    ]  # fmt: skip


def test_of_joint_items_what_the_recipe_names_counts() -> None:
    gains = JointSafetyGains(1.0, -1.0, 10.0, 20.0)
    items = given_items({SAFETY: JointSafetyMap({"joint_1": gains})})
    both = JointSafetyMap({"joint_1": gains, "joint_2": gains})
    assert drift_of(applied_to(items, reported={SAFETY: both})) == []
    assert drift_of(applied_to(items, reported={SAFETY: JointSafetyMap({"joint_2": gains})})) == ["joint_safety"]


def test_without_a_recipe_or_without_its_values_nothing_drifts() -> None:
    state = applied_to(ITEMS, reported={TWIST: linear(0.1)})
    state.recipes = Shelf()
    assert drift_of(state) == []
    body = msgspec.json.encode({"items": {"item_of_tomorrow": {}}, "models": []})
    state.recipes = Shelf((Recipe("weld", 3, body, "", "", ALICE, 5),))
    assert drift_of(state) == []
    state.applied = None
    assert (drift_of(state), recipe_document(state)) == ([], None)
