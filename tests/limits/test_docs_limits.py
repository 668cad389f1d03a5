"""The overview says what the code does: its tables name tests and formats that exist, its example prints that."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from limits.conversion.convert import convert
from limits.conversion.formats import Format
from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet
from limits.formats.urdf_records import JointType, UrdfMimic
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "limits.md").read_text()


def rows(header: str) -> list[list[str]]:
    """The cells of the table below a header."""
    lines = TEXT.split(header)[1].splitlines()[2:]
    table = lines[: next(index for index, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def test_every_change_of_a_layer_has_its_test_and_every_test_its_row() -> None:
    tests = (ROOT / "tests" / "limits" / "stack" / "test_layer_changes.py").read_text()
    named = [row[-1].strip("`") for row in rows("| layer | says | a change | moves effective | test |")]
    assert sorted(named) == sorted(re.findall(r"^def (test_\w+)", tests, re.MULTILINE))


def test_every_page_is_there() -> None:
    for page in re.findall(r"\]\((\w+\.md)\)", TEXT):
        assert (ROOT / "docs" / page).is_file()


def test_the_example_prints_what_it_says() -> None:
    code, printed = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", TEXT, re.DOTALL).groups()  # type: ignore[union-attr]  # it is there
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/limits.md", "exec"), {})  # noqa: S102 - the document's own example
    assert out.getvalue() == printed


def one(**joint: object) -> LimitSet:
    return LimitSet(joints=(LimitedJoint(name="joint_1", **joint),))  # type: ignore[arg-type]  # fields of the record


RANGE = JointNumbers(position_lower=-1.0, position_upper=1.0)
HOLDS: dict[str, LimitSet] = {
    "range, jerk, effort": one(limits=JointNumbers(position_lower=-1.0, position_upper=1.0, jerk=3.0, effort=2.0)),
    "velocity, acceleration": one(limits=JointNumbers(velocity=1.0, acceleration=2.0)),
    "deceleration other than acceleration": one(limits=JointNumbers(acceleration=1.0, deceleration=2.0)),
    "safety controller (soft range and gains)": one(
        limits=RANGE, safety=JointSafety(soft_upper_limit=1.0, k_position=1.0, k_velocity=1.0)
    ),
    "limits of `<ros2_control>`": one(control=JointNumbers(velocity=1.0)),
    "planar or floating joint": one(type=JointType.PLANAR),
    "soft limits of a joint": one(soft=JointNumbers(velocity=1.0)),
    "prismatic joint": one(type=JointType.PRISMATIC),
    "wraparound (continuous joint)": one(type=JointType.CONTINUOUS, limits=JointNumbers(velocity=1.0)),
    "twist, control mode": LimitSet(
        joints=(LimitedJoint(name="joint_1", limits=JointNumbers(velocity=1.0)),),
        mode=ControlMode.CARTESIAN_JOYSTICK,
        twist_linear=0.5,
    ),
    "joint names": LimitSet(joints=(LimitedJoint(name="elbow", limits=JointNumbers(velocity=1.0)),)),
    "mimic": LimitSet(
        joints=(
            LimitedJoint(name="joint_1"),
            LimitedJoint(name="joint_2", mimic=UrdfMimic(joint="joint_1")),
        )
    ),
}


@pytest.mark.parametrize("what", HOLDS)
def test_formats_hold_what_the_table_says(what: str) -> None:
    _, *cells = next(row for row in rows("| | urdf | ros | joint_limits | skeleton | kinova |") if row[0] == what)
    for kind, cell in zip(Format, cells, strict=True):
        lost = convert(HOLDS[what], kind, lossy=True).lost
        assert bool(lost) == (cell == "no"), (kind, lost)
