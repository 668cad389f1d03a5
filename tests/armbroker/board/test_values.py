from typing import Any

from armbroker.board.facts import ArmFacts
from armbroker.board.values import Value, compare, flat, unit_of, values_of
from tests.armbroker.board.documents import config, presence, reported


def facts(arm: str = "r1", twist: float = 0.5, **more: Any) -> ArmFacts:
    one = ArmFacts(arm)
    for name, document in (
        ("config", config(arm, **more)),
        ("reported", reported(arm, twist)),
        ("presence", presence(arm)),
    ):
        one.take(name, document)
    return one


def test_values_lie_flat_in_the_order_of_the_items() -> None:
    keys = [(value.item, value.slot, value.path, value.unit) for value in values_of(facts())]
    assert keys == [
        ("gravity_vector", "", "x", "m/s²"),
        ("gravity_vector", "", "y", "m/s²"),
        ("gravity_vector", "", "z", "m/s²"),
        ("joint_speed_soft_limits", "ANGULAR_JOYSTICK", "", "deg/s"),
        ("twist_linear_soft_limit", "CARTESIAN_JOYSTICK", "", "m/s"),
        ("joint_limits", "", "max_velocity", "rad/s"),
    ]


def test_what_differs_is_marked_by_slot() -> None:
    found = values_of(facts(twist=0.3, differs=["twist_linear_soft_limit/CARTESIAN_JOYSTICK"]))
    assert [value for value in found if value.differs] == [
        Value("twist_linear_soft_limit", "CARTESIAN_JOYSTICK", "", 0.5, 0.3, "m/s", differs=True)
    ]


def test_only_what_differs_between_arms_is_marked() -> None:
    found = {fact.what: fact for fact in compare([facts("r1"), facts("r2", 0.2)])}
    assert [what for what, fact in found.items() if fact.differs] == ["twist_linear_soft_limit CARTESIAN_JOYSTICK"]
    assert found["twist_linear_soft_limit CARTESIAN_JOYSTICK"].values == [0.5, 0.2]
    assert found["model"].values == ["gen3_7dof", "gen3_7dof"]


def test_an_arm_that_lacks_a_value_differs() -> None:
    found = {fact.what: fact for fact in compare([facts("r1"), ArmFacts("r3")])}
    assert found["gravity_vector z"].values == [-9.81, None]
    assert found["gravity_vector z"].differs


def test_units_of_mixed_messages() -> None:
    assert unit_of("tool_configuration", "", "tool_transform.theta_x") == "deg"
    assert unit_of("tool_configuration", "", "tool_transform.x") == "m"
    assert unit_of("tool_configuration", "", "tool_mass") == "kg"
    assert unit_of("cartesian_reference_frame", "", "reference_frame") == ""


def test_no_items_are_no_values() -> None:
    assert flat(None) == {}
    assert flat({"x": 3}) == {("x", "", ""): 3}
