"""Writing limits in another format; what it cannot hold is named, and refused."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from limits.conversion.fitting import fit
from limits.conversion.formats import ANY_NODE, NAMELESS, SKELETON_TYPES, Format
from limits.conversion.limit_set import Difference, LimitSet, counted_names, differences
from limits.conversion.reading import read_limits
from limits.errors import LimitsError, naming
from limits.formats.diagnostics import Weight

ROUNDING = 1e-6
"""Relative difference that the float32 degrees of a KinematicLimits make; it is no loss."""


class Loss(NamedTuple):
    """One thing that a written file does not give back, and why if that is not the format."""

    joint: str | None
    key: str
    left: object
    right: object
    reason: str = ""

    def __str__(self) -> str:
        """Return it in words."""
        what = self.key if self.joint is None else f"{self.key} of joint {self.joint}"
        left, right = (side + 0.0 if isinstance(side, float) else side for side in (self.left, self.right))
        value = f"{left}" if right is None else f"{left} becomes {right}"
        return f"{what} ({value})" + (f": {self.reason}" if self.reason else "")


class Base(NamedTuple):
    """A URDF or Skeleton that limits are put into, and its name."""

    data: bytes
    file: str | None = None


class Converted(NamedTuple):
    """A file, what it does not hold of the limits that were to be written, and what else is to be told, in words."""

    data: bytes
    lost: tuple[Loss, ...]
    notes: tuple[str, ...] = ()


class LossyError(LimitsError):
    """Limits that cannot be written whole.

    Attributes:
        holder: the format or file that cannot hold them.
        lost: all of what would be lost.
    """

    def __init__(self, holder: str, lost: Sequence[Loss], file: str | None) -> None:
        super().__init__("\n".join(f"{holder}: {one}" for one in lost), file=file, key="lossy", value=len(lost))
        self.holder = holder
        self.lost = tuple(lost)


def convert(
    limits: LimitSet,
    kind: Format,
    *,
    into: Base | None = None,
    node: str | None = None,
    as_json: bool = False,
    lossy: bool = False,
    file: str | None = None,
) -> Converted:
    """Write limits, those of `file`, in a format: into an existing URDF or Skeleton, or as a new file.

    Lost is what reading the file back does not give, and what the file of the limits holds without its counting: so
    nothing is lost unnoticed, whatever the format. What stays of `into` because the limits do not say it is no loss.

    Raises:
        LossyError: something is lost and `lossy` is not set.
        LimitsError: `into` is refused or has none of the joints; the format refuses the limits.
    """
    uncounted = [
        Loss(one.joint, one.key, one.value, None, one.reason) for one in limits.notes if one.weight == Weight.LOSS
    ]
    if into is not None:
        converted = _put_in(limits, kind, into, as_json=as_json, file=file)
        holder = f"{into.file or kind} cannot take"
    else:
        with naming(file):
            written = _written(limits, kind, node, as_json=as_json)
            converted = Converted(written, losses(limits, written, kind))
        holder = f"{kind} cannot hold"
    lost = (*uncounted, *converted.lost)
    if lost and not lossy:
        raise LossyError(holder, lost, file)
    return Converted(converted.data, lost, converted.notes)


def losses(limits: LimitSet, written: bytes, kind: Format) -> tuple[Loss, ...]:
    """What a written file does not give back; joints it has beyond these limits do not count."""
    names = [joint.name for joint in limits.joints]
    back = read_limits(written, kind, names=names if kind in NAMELESS else None)
    wanted = set(names)
    back = msgspec.structs.replace(back, joints=tuple(joint for joint in back.joints if joint.name in wanted))
    lost = differences(limits, back, ROUNDING if kind is Format.KINOVA else 0.0)
    if kind in NAMELESS and limits.named and tuple(names) != counted_names(len(names)):
        lost = (Difference(None, "names", ", ".join(names), None), *lost)
    return tuple(Loss(*one) for one in lost)


def _put_in(limits: LimitSet, kind: Format, into: Base, *, as_json: bool, file: str | None) -> Converted:
    """Put limits into an existing file: the joints that it has; the others are lost."""
    if kind not in {Format.URDF, Format.SKELETON}:
        raise LimitsError(f"a file of format {kind} has nothing but limits to be put into", file=into.file, key="into")
    base = read_limits(into.data, kind, file=into.file)
    fitted = fit(base, limits, file)
    if fitted.match.nothing_fits:
        known = tuple(joint.name for joint in base.joints)
        reason = "not one of its joints is there to be put into"
        if limits.counted:
            reason += "; its joints have no names, give them some"
        raise LimitsError(reason, file=file, key="joints", value=fitted.match.extra, bound=known)
    notes = [f"joint {there} is put into {name}" for name, there in fitted.match.renamed.items()]
    with naming(into.file):
        if kind is Format.URDF:
            from limits.conversion.urdf import limits_to_urdf, passed_over  # noqa: PLC0415 - only for this format

            written = limits_to_urdf(fitted.limits, into.data, into.file)
            notes += passed_over(fitted.limits, into.data, into.file)
        else:
            from limits.conversion.skeleton import limits_to_skeleton  # noqa: PLC0415 - loads protobuf

            written = limits_to_skeleton(fitted.limits, into.data, into.file, as_json=as_json)
    absent = dict.fromkeys(fitted.match.extra, "there is no such joint")
    absent |= {name: "the joint is fixed there" for name in fitted.match.extra if name in base.fixed}
    lost = (one for one in losses(fitted.limits, written, kind) if one.left is not None)
    told = tuple(one._replace(reason=absent.get(one.joint or "", "")) for one in lost)
    return Converted(written, told, tuple(notes))


def _written(limits: LimitSet, kind: Format, node: str | None, *, as_json: bool) -> bytes:
    """A new file; what only other formats need is not loaded."""
    match kind:
        case Format.URDF:
            from limits.conversion.urdf import limits_to_urdf  # noqa: PLC0415 - only for this format

            return limits_to_urdf(limits)
        case Format.ROS:
            from limits.conversion.ros import limits_to_ros  # noqa: PLC0415 - loads YAML

            return limits_to_ros(limits, node or ANY_NODE)
        case Format.SKELETON:
            from limits.conversion.skeleton import limits_to_skeleton  # noqa: PLC0415 - loads protobuf

            held = tuple(joint for joint in limits.joints if joint.type in SKELETON_TYPES)
            return limits_to_skeleton(msgspec.structs.replace(limits, joints=held), as_json=as_json)
        case Format.JOINT_LIMITS:
            from limits.conversion.vectors import limits_to_vectors  # noqa: PLC0415 - loads protobuf

            return limits_to_vectors(limits, as_json=as_json)
        case _:
            from limits.conversion.vectors import limits_to_kinova  # noqa: PLC0415 - loads protobuf

            return limits_to_kinova(limits)
