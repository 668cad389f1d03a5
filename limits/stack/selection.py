"""The limits of some joints of an arm, in an order of their own."""

from collections.abc import Sequence
from typing import NamedTuple

from limits.errors import LimitsError
from limits.stack.fold import Effective
from limits.stack.joints import JOINT_QUANTITIES, Bounds
from limits.stack.law import PositionLaw, position_laws
from limits.stack.matching import match_joints


class Selected(NamedTuple):
    """Joints, their bounds in a mode, and the laws of those that have one."""

    names: tuple[str, ...]
    bounds: Bounds
    laws: tuple[PositionLaw, ...]


def select(effective: Effective, mode: int | None, joints: Sequence[str] | None, file: str | None = None) -> Selected:
    """What counts for these joints of `file` in a mode; None: for all, in the order of the arm.

    Raises:
        LimitsError: a name stands twice, or is no joint of the arm.
    """
    names, bounds, laws = effective.joints.names, effective.at(mode), position_laws(effective)
    if joints is None:
        return Selected(names, bounds, laws)
    match = match_joints(names, joints, file=file)
    if match.extra:
        raise LimitsError("is no joint of the arm", file=file, joint=match.extra[0], key="joints", bound=names)
    found = sorted((at, column) for column, at in enumerate(match.order) if at is not None)
    columns = [column for _, column in found]
    place = {column: at for at, column in found}
    rows = {quantity: getattr(bounds, quantity)[columns] for quantity in JOINT_QUANTITIES}
    return Selected(
        tuple(names[column] for column in columns),
        bounds._replace(**rows),
        tuple(law._replace(joint=place[law.joint]) for law in laws if law.joint in place),
    )
