"""Files that limit arms, as the settings name them."""

from pathlib import Path
from typing import Any

import pytest

from broker.arms.limit_files import LimitFiles
from broker.settings import ArmSettings, SettingsError, from_document
from schema.intrinsic import DynamicLimitsCheckMode
from tests.journey.limit_files import ros_yaml, skeleton, urdf

NOW_US = 7


def arm(arm_id: str = "r1", **settings: Any) -> ArmSettings:
    """The settings of an arm."""
    [found] = from_document({"arm": [{"id": arm_id, "model": "gen3_7dof", **settings}]}).arm
    return found


def test_an_arm_without_files_has_none() -> None:
    sources = LimitFiles(NOW_US).sources(arm())
    assert (sources.urdf, sources.parameters, sources.skeleton) == (None, None, None)
    assert (sources.since_us, sources.site_caps) == (NOW_US, {})
    assert sources.loosest is DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE


def test_every_file_is_read_and_named_without_its_folder(tmp_path: Path) -> None:
    checks = {"loosest": "DYNAMIC_LIMITS_CHECK_MODE_CHECK_JOINT_ACCELERATION"}
    named = arm(
        urdf=urdf(tmp_path / "gen3.urdf"),
        ros_yaml=ros_yaml(tmp_path / "limits.yaml", has_velocity_limits=True, max_velocity=0.75),
        ros_node="arm_node",
        skeleton=skeleton(tmp_path / "gen3.json"),
        site_caps={"velocity": 1.0},
        checks=checks,
    )
    sources = LimitFiles(NOW_US).sources(named)
    assert sources.urdf is not None
    assert sources.skeleton is not None
    assert sources.parameters is not None
    assert sources.parameters.number("joint_limits.joint_1.max_velocity") == 0.75
    files = (sources.urdf_file, sources.ros_file, sources.skeleton_file)
    assert files == ("gen3.urdf", "limits.yaml", "gen3.json")
    assert sources.site_caps == {"velocity": 1.0}
    assert sources.loosest.name == checks["loosest"]


def test_a_file_of_many_arms_is_read_once(tmp_path: Path) -> None:
    files, path = LimitFiles(NOW_US), urdf(tmp_path / "gen3.urdf")
    first, second = (files.sources(arm(name, urdf=path)) for name in ("r1", "r2"))
    assert first.urdf is second.urdf


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("<robot", "gen3.urdf"),
        ("<robot name='gen3'><link name='a'/><link name='b'/></robot>", "gen3.urdf"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_arm(tmp_path: Path, text: str | None, why: str) -> None:
    path = tmp_path / "gen3.urdf"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match="arm r1: ") as caught:
        LimitFiles(NOW_US).sources(arm(urdf=str(path)))
    assert why in str(caught.value)


def test_caps_must_fit_the_joints_of_the_model() -> None:
    with pytest.raises(SettingsError, match=r"arm r1: .*velocity: needs one number a joint \(got 2, bound 7\)"):
        LimitFiles(NOW_US).sources(arm(site_caps={"velocity": [1.0, 2.0]}))
    caps = {"velocity": [1.0, 2.0]}
    assert LimitFiles(NOW_US).sources(ArmSettings("r1", model="another", site_caps=dict(caps))).site_caps == caps
