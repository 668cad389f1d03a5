"""Every URDF of the package `example-robot-data`: files that nobody here wrote."""

import importlib.metadata
import re
from pathlib import Path

import pytest

from limits.errors import LimitsError
from limits.formats.urdf import read_urdf
from limits.formats.urdf_checks import diagnose
from limits.formats.urdf_elements import UrdfDialect
from limits.formats.urdf_records import UrdfRobot
from limits.formats.urdf_writer import replace_limits, write_urdf
from limits.tesseract.joint_safety import check_joint_safety, joint_safety_from_urdf

REFUSED = {
    "ur3.urdf": (None, "name", "the robot has no name"),
}
"""Files the strict reader refuses, by the end of their path: joint, key and reason."""
REFUSED_BY_ALL = {"ur3.urdf"}
"""Files that urdfdom and tesseract refuse as well."""
MENTION_SAFETY = 14
HOLD_SAFETY = 8
"""The other six have theirs in comments."""
COMMENT = re.compile("<!--.*?-->", re.DOTALL)


def refusal(path: Path) -> str | None:
    """The end of the path by which a file stands in the table."""
    return next((end for end in REFUSED if path.as_posix().endswith(f"/{end}")), None)


@pytest.fixture(scope="module")
def files() -> list[Path]:
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    return [Path(str(file.locate())) for file in package.files or () if file.name.endswith(".urdf")]


@pytest.fixture(scope="module")
def robots(files: list[Path]) -> dict[Path, UrdfRobot]:
    return {path: read_urdf(path.read_bytes(), path.name) for path in files if refusal(path) is None}


def test_every_file_is_read_or_refused_with_its_reason(files: list[Path], robots: dict[Path, UrdfRobot]) -> None:
    assert len(files) >= 50
    rest = [path for path in files if path not in robots]
    assert sorted(filter(None, map(refusal, rest))) == sorted(REFUSED)
    for path in rest:
        with pytest.raises(LimitsError) as caught:
            read_urdf(path.read_bytes(), path.name)
        error = caught.value
        assert (error.joint, error.key, error.reason) == REFUSED[refusal(path) or ""]
        assert error.file == path.name


@pytest.mark.parametrize("dialect", [UrdfDialect.URDFDOM, UrdfDialect.TESSERACT])
def test_the_other_dialects_read_nearly_all(dialect: UrdfDialect, files: list[Path]) -> None:
    for path in files:
        if refusal(path) in REFUSED_BY_ALL:
            with pytest.raises(LimitsError):
                read_urdf(path.read_bytes(), path.name, dialect)
        else:
            assert read_urdf(path.read_bytes(), path.name, dialect).links


def test_safety_controllers_are_read(robots: dict[Path, UrdfRobot]) -> None:
    texts = {path: path.read_text() for path in robots}
    mentioning = [path for path, text in texts.items() if "<safety_controller" in text]
    assert len(mentioning) == MENTION_SAFETY
    holders = 0
    for path in mentioning:
        safeties = [joint.safety for joint in robots[path].joints if joint.safety is not None]
        assert len(safeties) == COMMENT.sub("", texts[path]).count("<safety_controller")
        for safety in safeties:
            check_joint_safety(joint_safety_from_urdf(safety))
        holders += bool(safeties)
    assert holders == HOLD_SAFETY


def test_everything_comes_back_and_the_rest_of_the_file_stays(robots: dict[Path, UrdfRobot]) -> None:
    for path, robot in robots.items():
        text = path.read_text()
        written = replace_limits(text, robot.joints)
        assert read_urdf(written) == robot
        assert written.count("<!--") == text.count("<!--")
        bare = read_urdf(write_urdf(robot))
        assert (bare.name, bare.links, bare.joints) == (robot.name, robot.links, robot.joints)


def test_doubts_name_joint_and_key(robots: dict[Path, UrdfRobot]) -> None:
    doubts = [doubt for robot in robots.values() for doubt in diagnose(robot)]
    assert {"velocity", "lower", "k_position", "mimic", "command_effort"} <= {doubt.key for doubt in doubts}
    assert ("Left_index_q2", "mimic", "index_q1") in {(doubt.joint, doubt.key, doubt.value) for doubt in doubts}
