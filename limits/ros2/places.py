"""Where a file keeps the joint limits of a node, and what in it is written as other readers want it."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic, Weight
from limits.formats.ros_yaml import Section, Value
from limits.ros2.keys import HARD_KEYS, ROOT, SOFT_KEYS, split_name

KEYS = frozenset(HARD_KEYS + SOFT_KEYS)
CARTESIAN = "cartesian_limits."
"""What the limits of the tool are called that MoveIt (Pilz) keeps beside those of the joints."""
_PLACE = f"{ROOT}."


class Placed(NamedTuple):
    """Parameters with the joint limits at their root, and what is to be told about that."""

    values: Mapping[str, Value]
    notes: tuple[Diagnostic, ...]


def holds_joint_limits(section: Section) -> bool:
    """Tell whether parameters hold joint limits, at the root or in a namespace."""
    return bool(_namespaces(section.values))


def rooted(section: Section, node: str | None = None, file: str | None = None) -> Placed:
    """Parameters of a node with its joint limits at the root: those of a namespace, where there are no others.

    Of several namespaces the one counts that `node` names. Decelerations that are written below 0, as MoveIt (Pilz)
    wants them, become magnitudes; angles were radians already, and are told.

    Raises:
        LimitsError: several namespaces hold joint limits, and neither the root nor the one that is named.
    """
    spaces = _namespaces(section.values)
    wanted = "" if node is None else "".join(f"{part}." for part in node.split("/") if part)
    if "" in spaces or not spaces:
        space = ""
    elif len(spaces) == 1:
        (space,) = spaces
    elif wanted in spaces:
        space = wanted
    else:
        found = [f"{one}{ROOT}" for one in spaces]
        raise LimitsError("stand in several places; name one as the node", file=file, key=ROOT, value=found)
    notes = _notes_of_places(space, spaces) + _notes_of_angles(section, space)
    values, turned = _as_magnitudes({name.removeprefix(space): value for name, value in section.values.items()})
    left = Diagnostic(None, CARTESIAN[:-1], None, "limits of the tool are not read", Weight.NOTE)
    beside = [left] if any(CARTESIAN in f".{name}" for name in section.values) else []
    return Placed(values, (*notes, *turned, *beside))


def _namespaces(values: Mapping[str, Value]) -> dict[str, None]:
    """What stands before `joint_limits`, dots included, for each place that holds limits of a joint."""
    found: dict[str, None] = {}
    for name in values:
        at = 0 if name.startswith(_PLACE) else name.find(f".{_PLACE}") + 1
        joint, _, key = name[at + len(_PLACE) :].rpartition(".")
        if (at or name.startswith(_PLACE)) and joint and key in KEYS:
            found[name[:at]] = None
    return found


def _notes_of_places(space: str, spaces: Mapping[str, None]) -> list[Diagnostic]:
    notes = []
    if space:
        reason = "the joint limits stand here, as those for MoveIt do; nodes of ros2_control look in joint_limits"
        notes.append(Diagnostic(None, f"{space}{ROOT}", None, reason, Weight.NOTE))
    others = [f"{one}{ROOT}" for one in spaces if one != space]
    return notes + [
        Diagnostic(None, one, None, "joint limits stand here too, and are not read", Weight.NOTE) for one in others
    ]


def _notes_of_angles(section: Section, space: str) -> list[Diagnostic]:
    notes = []
    for name, text in section.angles.items():
        joint, key = split_name(name.removeprefix(space))
        reason = "this tag is read as xacro reads it; nodes of ROS 2 do not read it, for them write the radians"
        notes.append(Diagnostic(joint, key, f"{text} = {section.values[name]!r}", reason, Weight.NOTE))
    return notes


def _as_magnitudes(values: Mapping[str, Value]) -> Placed:
    """Decelerations of joints without their sign."""
    turned: dict[str, Value] = {}
    notes = []
    for name, value in values.items():
        is_number = isinstance(value, float) or type(value) is int
        if not (is_number and name.startswith(_PLACE) and name.endswith(".max_deceleration")):
            continue
        number = float(value)  # type: ignore[arg-type] # a number, see above
        if number < 0.0 and math.isfinite(number):
            joint, key = split_name(name)
            reason = (
                f"MoveIt (Pilz) writes decelerations below 0; here, as in ros2_control, it is a magnitude: {-number!r}"
            )
            notes.append(Diagnostic(joint, key, value, reason, Weight.NOTE))
            turned[name] = -number
    return Placed({**values, **turned} if turned else values, tuple(notes))
