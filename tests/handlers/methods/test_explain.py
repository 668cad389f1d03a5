import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.stack.arm_limits import limits_of
from handlers.state.arm_state import ArmState
from handlers.state.limit_sources import LimitSources
from handlers.state.provenance import Setter, Stamp
from limits.kinova_models import MODELS, KinovaModel
from limits.stack.joints import JOINT_QUANTITIES, LOWER, QUANTITIES, TWIST_QUANTITIES
from limits.stack.layer import SLOTS
from schema.arms import JointInfo
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.items import SOFT_LIMIT_MODES
from schema.joint_items import JointSafetyGains, JointSafetyMap
from schema.messages import ControlModeInformation, Message
from tests.handlers.builders import (
    SLOT_MESSAGES,
    answer,
    arm,
    description,
    never_read,
    speeds,
    values,
)

JOYSTICK = ControlMode.ANGULAR_JOYSTICK


def explained(state: ArmState, **params: object) -> dict[str, Any]:
    result = answer(state, "Explain", params).result
    assert isinstance(result, dict)
    return result


def model_arm(model: KinovaModel, **changes: Any) -> ArmState:
    """An arm of a model with its own soft limits."""
    told = description(
        model=model.name,
        joints=tuple(JointInfo(joint.name, joint.type) for joint in model.joints),
        hard_limits=model.hard,
    )
    held = values() | {("joint_limits", 0): type(values()["joint_limits", 0])()}
    for key, (message, field) in SLOT_MESSAGES.items():
        for mode in SOFT_LIMIT_MODES[key]:
            held[key, int(mode)] = message(mode, getattr(model.soft_defaults[mode], field))
    return arm(model=model.name, description=told, **({"desired": held, "reported": held} | changes))


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
@pytest.mark.parametrize("mode", [None, *SLOTS])
def test_every_effective_number_of_the_models_is_the_tightest_of_its_stack(
    model: KinovaModel, mode: ControlMode | None
) -> None:
    state = model_arm(model)
    name = (mode or ControlMode.UNSPECIFIED_CONTROL_MODE).name
    found = explained(state, mode=name)
    assert found["mode"] == name
    effective = limits_of(state).folded
    assert len(found["numbers"]) == len(JOINT_QUANTITIES) * len(model.joints) + len(TWIST_QUANTITIES)
    for number in found["numbers"]:
        quantity, joint = number["quantity"], number.get("joint")
        stack = [said["value"] for said in number["stack"]]
        tightest = max if quantity == LOWER else min
        folded = tightest(stack, default=None)
        assert number["value"] == folded
        engine = effective.value(quantity, joint, mode)
        assert folded == (engine if math.isfinite(engine) else None)
        binding = [said for said in number["stack"] if said["binds"]]
        assert len(binding) == bool(stack)
        for said in binding:
            assert said["value"] == number["value"]
            assert all(said[key] == number[key] for key in ("layer", "source", "by", "since"))


@given(
    degrees=st.lists(st.floats(0, 80).map(lambda value: round(value, 3)), min_size=7, max_size=7),
    lower=st.floats(-3, 0),
    gain=st.sampled_from([0.0, 2.0]),
    cap=st.floats(0, 2),
)
def test_the_fold_of_the_layers_is_the_number_of_the_engine(
    degrees: list[float], lower: float, gain: float, cap: float
) -> None:
    safety = JointSafetyMap({"joint_2": JointSafetyGains(1.0, lower, gain, gain)})
    changed: dict[tuple[str, int], Message] = {
        ("joint_safety", 0): safety,
        ("joint_speed_soft_limits", int(JOYSTICK)): speeds(*degrees),
    }
    state = arm(desired=values() | changed, reported=values(), sources=LimitSources(site_caps={"velocity": cap}))
    effective = limits_of(state).folded
    for number in explained(state, mode="ANGULAR_JOYSTICK")["numbers"]:
        quantity, joint = number["quantity"], number.get("joint")
        stack = [said["value"] for said in number["stack"] if said["value"] is not None]
        tightest = (max if quantity == LOWER else min)(stack, default=None)
        engine = effective.value(quantity, joint, JOYSTICK)
        assert tightest == (engine if math.isfinite(engine) else None)


def test_a_number_is_explained_layer_by_layer() -> None:
    found = explained(arm(), quantity="velocity", joint="joint_2", mode="ANGULAR_JOYSTICK")
    assert found["mode"] == "ANGULAR_JOYSTICK"
    (number,) = found["numbers"]
    assert (number["quantity"], number["joint"], number["unit"]) == ("velocity", "joint_2", "rad/s")
    assert number["value"] == pytest.approx(math.radians(50))
    assert (number["layer"], number["source"]) == ("soft", "soft:ANGULAR_JOYSTICK")
    assert [(said["layer"], said.get("mode"), said["binds"]) for said in number["stack"]] == [
        ("hard", None, False),
        ("application", None, False),
        ("soft", "ANGULAR_JOYSTICK", True),
    ]
    assert number["since"] == number["stack"][2]["since"]
    assert number["by"] == number["stack"][2]["by"]


def test_a_safety_record_shows_its_law() -> None:
    held = values() | {("joint_safety", 0): JointSafetyMap({"joint_2": JointSafetyGains(1.0, -1.0, 2.0, 3.0)})}
    found = explained(arm(desired=held, reported=held), quantity="velocity", joint="joint_2")
    (said,) = [said for said in found["numbers"][0]["stack"] if said["layer"] == "joint_safety"]
    assert said["law"] == {
        "soft_upper_limit": 1.0, "soft_lower_limit": -1.0, "k_position": 2.0, "k_velocity": 3.0
    }  # fmt: skip
    assert said["value"] is None


def test_all_numbers_of_a_joint_or_of_a_quantity_or_of_the_arm() -> None:
    of_joint = explained(arm(), joint="joint_3")["numbers"]
    assert [number["quantity"] for number in of_joint] == list(JOINT_QUANTITIES)
    of_quantity = explained(arm(), quantity="acceleration")["numbers"]
    assert [number["joint"] for number in of_quantity] == [f"joint_{number}" for number in range(1, 8)]
    (twist,) = explained(arm(), quantity="twist_linear")["numbers"]
    assert ("joint" in twist, twist["unit"]) == (False, "m/s")
    assert {number["quantity"] for number in explained(arm())["numbers"]} == set(QUANTITIES)


def test_what_nothing_limits_has_no_value() -> None:
    (number,) = explained(arm(), quantity="jerk", joint="joint_1")["numbers"]
    assert number == {"quantity": "jerk", "joint": "joint_1", "value": None, "unit": "rad/s³", "stack": []}


def mode(name: ControlMode | int) -> dict[tuple[str, int], Message]:
    return values() | {("control_mode", 0): ControlModeInformation(name)}


def test_without_a_mode_the_present_one_is_meant() -> None:
    assert explained(arm())["mode"] == "ANGULAR_JOYSTICK"
    idle = mode(ControlMode.IDLE)
    assert explained(arm(desired=idle, reported=idle))["mode"] == "IDLE"


@pytest.mark.parametrize(
    "changes",
    [
        {"online": False},
        {"desired": mode(ControlMode.IDLE)},
        {"desired": mode(99), "reported": mode(99)},
        {"reported": {}},
    ],
)
def test_while_the_mode_is_not_known_the_tightest_of_all_counts(changes: dict[str, Any]) -> None:
    found = explained(arm(**changes), quantity="velocity", joint="joint_1")
    assert found["mode"] == "UNSPECIFIED_CONTROL_MODE"
    if "reported" not in changes or changes["reported"]:
        assert found["numbers"][0]["value"] == pytest.approx(math.radians(25))


@pytest.mark.parametrize(
    ("params", "kind", "words"),
    [
        (
            {"quantity": "speed"},
            "unknown_enum",
            r"params\.quantity: 'speed' is no quantity; quantities: position_lower",
        ),
        ({"joint": "wrist"}, "unknown_enum", r"params\.joint: 'wrist' is no joint of the arm; joints: joint_1"),
        ({"quantity": "twist_linear", "joint": "joint_1"}, "malformed", "twist_linear is of the whole arm"),
        ({"mode": "DANCING"}, "unknown_enum", r"params\.mode: 'DANCING' is no control mode"),
        ({"mode": 2}, "malformed", r"params\.mode: a text is needed"),
        ({"axis": 2}, "unknown_field", "known: quantity, joint, mode"),
    ],
)
def test_what_does_not_exist_is_refused(params: dict[str, object], kind: str, words: str) -> None:
    with pytest.raises(BrokerError, match=words) as caught:
        answer(arm(), "Explain", params)
    assert caught.value.kind == kind


def test_an_arm_that_was_never_read_has_no_limits() -> None:
    with pytest.raises(BrokerError) as caught:
        answer(never_read(), "Explain")
    assert caught.value.kind == "arm_not_read"


def test_limits_that_cannot_be_used_are_told() -> None:
    sources = LimitSources(site_caps={"velocity": [1.0, 2.0]})
    with pytest.raises(BrokerError, match="needs one number a joint") as caught:
        answer(arm(sources=sources), "Explain")
    assert caught.value.kind == "held"


def test_a_number_that_came_with_a_recipe_says_so_until_it_is_set_otherwise() -> None:
    slot = ("joint_speed_soft_limits", 1)
    recipe, other = Setter(Stamp("alice/plc-3", 5, "weld@3")), Setter(Stamp("bob/hmi", 6))
    for setter, told in ((recipe, ["weld@3"]), (other, [])):
        found = explained(arm(reported_by={slot: setter}), quantity="velocity", joint="joint_1", mode=JOYSTICK.name)
        (number,) = found["numbers"]
        assert [said["recipe"] for said in number["stack"] if "recipe" in said] == told
        assert "recipe" not in number
