import json
from pathlib import Path
from typing import Any

import pytest

from limits.kinova_models import MODELS, KinovaModel
from schema.enums import ControlMode
from schema.items import SOFT_LIMIT_MODES
from schema.messages import GravityVector, KinematicLimits

NAMES = sorted(MODELS)


@pytest.fixture
def public(vectors_dir: Path) -> dict[str, Any]:
    models: dict[str, Any] = json.loads((vectors_dir / "kinova_limits.json").read_text())["models"]
    return models


def test_every_public_model_is_there(public: dict[str, Any]) -> None:
    assert sorted(public) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_joints_payload_and_gravity_are_the_public_ones(name: str, public: dict[str, Any]) -> None:
    model, facts = MODELS[name], public[name]
    assert [joint.name for joint in model.joints] == [f"joint_{number}" for number in range(1, facts["joints"] + 1)]
    continuous = [number for number, joint in enumerate(model.joints, 1) if joint.type == "continuous"]
    assert continuous == facts["continuous"]
    assert model.payload_max == facts["payload_max"]
    assert model.gravity == GravityVector(*facts["gravity_default"])


@pytest.mark.parametrize("name", NAMES)
def test_hard_limits_are_the_public_ones(name: str, public: dict[str, Any]) -> None:
    hard, facts = MODELS[name].hard, public[name]
    assert list(hard.joint_speed_limits) == facts["hard"]["joint_speed"]
    assert list(hard.joint_acceleration_limits) == facts["hard"]["joint_acceleration"]
    simulated = facts.get("sim_twist", {})
    assert hard.twist_linear == (facts["hard"]["twist_linear"] or simulated["linear"])
    assert hard.twist_angular == (facts["hard"]["twist_angular"] or simulated["angular_deg"])


@pytest.mark.parametrize("name", NAMES)
def test_public_soft_defaults_stand_in_the_table(name: str, public: dict[str, Any]) -> None:
    for mode, facts in public[name]["soft_default"].items():
        limits = MODELS[name].soft_defaults[ControlMode[mode]]
        assert list(limits.joint_acceleration_limits) == facts["joint_acceleration"]
        assert list(limits.joint_speed_limits) == facts.get("joint_speed", list(limits.joint_speed_limits))
        assert limits.twist_linear == facts.get("twist_linear", limits.twist_linear)


def without_public_default(model: KinovaModel) -> list[KinematicLimits]:
    return [
        model.soft_defaults[mode]
        for mode in (
            ControlMode.CARTESIAN_JOYSTICK,
            ControlMode.CARTESIAN_TRAJECTORY,
            ControlMode.CARTESIAN_WAYPOINT_TRAJECTORY,
        )
    ]


@pytest.mark.parametrize("name", NAMES)
def test_without_a_public_default_the_hard_limit_stands_and_a_note_says_so(name: str) -> None:
    model = MODELS[name]
    for limits in without_public_default(model):
        assert limits.joint_speed_limits == model.hard.joint_speed_limits
        assert (limits.twist_linear, limits.twist_angular) == (model.hard.twist_linear, model.hard.twist_angular)
    assert any("Cartesian modes: no public default" in note for note in model.notes)


@pytest.mark.parametrize("name", NAMES)
def test_a_mode_has_exactly_the_limits_it_takes(name: str) -> None:
    model = MODELS[name]
    assert set(model.soft_defaults) == set(SOFT_LIMIT_MODES["joint_speed_soft_limits"])
    count = len(model.joints)
    for mode, limits in model.soft_defaults.items():
        assert limits.control_mode == mode
        assert len(limits.joint_speed_limits) == count
        accelerates = mode in SOFT_LIMIT_MODES["joint_acceleration_soft_limits"]
        assert len(limits.joint_acceleration_limits) == (count if accelerates else 0)
        assert (limits.twist_linear > 0) == (mode in SOFT_LIMIT_MODES["twist_linear_soft_limit"])
        assert (limits.twist_angular > 0) == (mode in SOFT_LIMIT_MODES["twist_angular_soft_limit"])


def test_modes_that_take_a_soft_limit_are_those_of_the_vectors(vectors_dir: Path) -> None:
    rpcs = json.loads((vectors_dir / "kinova_rpcs.json").read_text())["rpcs"]
    accepted = {row["rpc"]: row["modes_seen_accepted"] for row in rpcs}
    for key, modes in SOFT_LIMIT_MODES.items():
        rpc = "Set" + key.title().replace("_", "")
        assert sorted(modes) == accepted[rpc]
