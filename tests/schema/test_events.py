import pytest

from schema.enums import ControlConfigurationEvent
from schema.events import EVENTS, EventClass, config_event_name, event_topic

NUMBERS = {
    "UNSPECIFIED_CONTROL_CONFIGURATION_EVENT": 0,
    "ANGLE_UNIT_CHANGED": 1,
    "GRAVITY_VECTOR_CHANGED": 2,
    "JOINT_ADMITTANCE_CONFIGURATION_CHANGED": 4,
    "NULL_ADMITTANCE_CONFIGURATION_CHANGED": 5,
    "CARTESIAN_ADMITTANCE_CONFIGURATION_CHANGED": 6,
    "JOINT_TORQUE_HYBRID_CONFIGURATION_CHANGED": 7,
    "WRENCH_COMMAND_NORMAL_CONFIGURATION_CHANGED": 8,
    "WRENCH_COMMAND_RESTRICTED_CONFIGURATION_CHANGED": 9,
    "CONTROL_CONFIGURATION_FACTORY_RESTORED": 10,
    "TOOL_CONFIGURATION_CHANGED": 11,
    "PAYLOAD_CONFIGURATION_CHANGED": 12,
    "CARTESIAN_REFERENCE_CHANGED": 13,
    "CHANGE_CONTROL_MODE_FAILED": 14,
    "JOINT_SPEED_SOFT_LIMITS_CHANGED": 16,
    "TWIST_LINEAR_SOFT_LIMIT_CHANGED": 17,
    "TWIST_ANGULAR_SOFT_LIMIT_CHANGED": 18,
    "JOINT_ACCELERATION_SOFT_LIMITS_CHANGED": 19,
    "DESIRED_TWIST_LINEAR_SPEED_CHANGED": 20,
    "DESIRED_TWIST_ANGULAR_SPEED_CHANGED": 21,
    "DESIRED_JOINT_SPEED_CHANGED": 22,
}
OWN = {
    "JOINT_LIMITS_CHANGED": EventClass.CONFIG,
    "JOINT_SAFETY_CHANGED": EventClass.CONFIG,
    "JOINT_PARAMETERS_CHANGED": EventClass.CONFIG,
    "CONFIG_APPLIED": EventClass.CONFIG,
    "CONTROL_MODE_CHANGED": EventClass.MODE,
    "CHANGE_NOT_APPLIED": EventClass.OUTCOME,
    **dict.fromkeys(("OVERRIDE_EXTENDED", "OVERRIDE_ENDING", "OVERRIDE_ENDED"), EventClass.OVERRIDE),
    **dict.fromkeys(
        ("AUTHORITY_CHANGED", "ARM_HELD", "ARM_RELEASED", "ARM_CONFIRMED", "ARM_RENAMED", "REQUEST_DENIED"),
        EventClass.ADMIN,
    ),
    **dict.fromkeys(
        (
            "PLAN_PROPOSED",
            "PLAN_STARTED",
            "PLAN_WAVE_ENDED",
            "PLAN_PAUSED",
            "PLAN_RESUMED",
            "PLAN_REVERSING",
            "PLAN_ENDED",
        ),
        EventClass.PLAN,
    ),
    "RECIPE_CHANGED": EventClass.RECIPE,
    **dict.fromkeys(("GROUPS_CHANGED", "POLICY_CHANGED"), EventClass.SETTINGS),
    "HANDLE_EXPIRED": EventClass.NOTICE,
}


def test_kinovas_events_keep_their_numbers_and_ours_have_none() -> None:
    assert {row.name: row.number for row in EVENTS.values() if row.number is not None} == NUMBERS
    assert {row.name: row.event_class for row in EVENTS.values() if row.number is None} == OWN
    assert all(EVENTS[name].event_class is EventClass.CONFIG for name in NUMBERS)
    assert all(name == row.name for name, row in EVENTS.items())


@pytest.mark.parametrize(("number", "name"), [(16, "JOINT_SPEED_SOFT_LIMITS_CHANGED"), (3, "3"), (999, "999")])
def test_name_of_a_number(number: int, name: str) -> None:
    assert config_event_name(number) == name


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("GRAVITY_VECTOR_CHANGED", "config/GRAVITY_VECTOR_CHANGED"),
        ("JOINT_LIMITS_CHANGED", "config/JOINT_LIMITS_CHANGED"),
        ("CONTROL_MODE_CHANGED", "mode"),
        ("CHANGE_NOT_APPLIED", "outcome"),
        ("REQUEST_DENIED", "admin"),
        ("PLAN_ENDED", "plan"),
        ("RECIPE_CHANGED", "recipe"),
        ("GROUPS_CHANGED", "settings"),
        ("15", "config/15"),
    ],
)
def test_topic_of_an_event(name: str, topic: str) -> None:
    assert event_topic(name) == topic


def test_the_table_covers_the_enum() -> None:
    assert {event.name for event in ControlConfigurationEvent} <= set(EVENTS)
