"""What the commands of limits are asked for."""

from pathlib import Path
from typing import NamedTuple

from limits.conversion.formats import Format


class Asked(NamedTuple):
    """How files are read: their format, the node of ROS parameters, names of joints with commas between them."""

    kind: Format | None
    node: str | None
    joints: str | None


class Motion(NamedTuple):
    """A trajectory to check, and whether its accelerations are."""

    path: Path
    accelerations: bool


class Written(NamedTuple):
    """How a file is written; the node is that of ROS parameters."""

    path: Path
    kind: Format
    into: Path | None
    node: str | None
    as_json: bool
    lossy: bool
