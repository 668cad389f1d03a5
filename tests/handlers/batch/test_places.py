import pytest

from handlers.batch.places import below, place_of, placed
from schema.arms import Slot
from schema.envelope import Violation
from schema.errors import BrokerError

TWIST: Slot = ("twist_linear_soft_limit", 2)
SPEEDS: Slot = ("joint_speed_soft_limits", 1)


@pytest.mark.parametrize(
    ("slot", "path", "found"),
    [
        (TWIST, "twist_linear_soft_limit", "items.twist_linear_soft_limit.CARTESIAN_JOYSTICK"),
        (SPEEDS, "joint_speed_soft_limits[3]", "items.joint_speed_soft_limits.ANGULAR_JOYSTICK[3]"),
        (("payload_information", 0), "payload_mass", "items.payload_information.payload_mass"),
        (("payload_information", 0), "", "items.payload_information"),
        (("gravity_vector", 0), "gravity_vector", "items.gravity_vector"),
        (("joint_limits", 0), "max_velocity.values[3]", "items.joint_limits.max_velocity.values[3]"),
        (("desired_joint_speeds", 0), "joint_speed[2]", "items.desired_joint_speeds.joint_speed[2]"),
    ],
)
def test_a_path_of_a_set_is_one_below_its_slot(slot: Slot, path: str, found: str) -> None:
    assert below("items", slot, path) == found


def test_a_refusal_names_the_slot() -> None:
    one = Violation("twist_linear_soft_limit", 0.9, 0.5, "m/s", "<=", "hard:profile")
    error = BrokerError("out_of_limits", "twist_linear_soft_limit: 0.9 > 0.5. Nothing was changed.", (one,))
    found = placed("items", TWIST, error)
    path = "items.twist_linear_soft_limit.CARTESIAN_JOYSTICK"
    assert found.message == f"{path}: 0.9 > 0.5. Nothing was changed."
    assert [violation.path for violation in found.violations] == [path]
    plain = placed("items", ("gravity_vector", 0), BrokerError("implausible_value", "the norm is wrong."))
    assert plain.message == "items.gravity_vector: the norm is wrong. Nothing was changed."
    assert place_of("items", ("gravity_vector", 0)) == "items.gravity_vector"
