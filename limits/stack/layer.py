"""Layers of an arm's limit stack: numbers with where they come from, who set them and when."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from limits.errors import LimitsError
from limits.stack.joints import ArmJoints, Array
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode

SLOTS = tuple(mode for mode in ControlMode if mode is not ControlMode.UNSPECIFIED_CONTROL_MODE)
"""The control modes that have effective limits of their own."""


class LayerKind(enum.StrEnum):
    """What a layer is; the order is that of the stack, outermost first: of equal numbers the first one binds."""

    HARD = "hard"
    """Reported by the arm, else its profile."""
    URDF = "urdf"
    ROS = "ros"
    """Parameters of a ROS node or file."""
    SKELETON = "skeleton"
    APPLICATION = "application"
    """Set by JointLimitsUpdate or JointLimitUpdate."""
    SOFT = "soft"
    """Of one control mode."""
    JOINT_SAFETY = "joint_safety"
    SITE = "site"
    """Caps of the plant."""


STACK_ORDER = tuple(LayerKind)
MACHINE_KINDS = frozenset({LayerKind.HARD, LayerKind.URDF, LayerKind.ROS, LayerKind.SKELETON})
"""Layers that describe the same machine, so that a difference between them is a disagreement."""


SOFT_PART = "#soft"
"""How the source of the soft limits of a skeleton ends."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a number comes from (`hard:device`, `urdf:gen3.urdf`), who set it, since when (µs since 1970 UTC)."""

    source: str
    by: str
    since_us: int
    recipe: str = ""
    """The recipe that it came with."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Ceilings of one source, shape (cells,), see `limits.stack.joints`.

    `mode` limits it to one control mode. `origins` has the numbers, by quantity and joint, that were set by someone
    else or at another time than the rest. `safeties`, one a joint, bound velocity and effort by the state.
    """

    kind: LayerKind
    origin: Origin
    ceilings: Array
    mode: ControlMode | None = None
    origins: Mapping[tuple[str, str | None], Origin] = field(default_factory=dict)
    safeties: tuple[JointSafety | None, ...] = ()

    @property
    def is_soft(self) -> bool:
        """Whether it holds soft limits of its source: safety records, or the soft limits of a skeleton."""
        return bool(self.safeties) or self.origin.source.endswith(SOFT_PART)

    def origin_of(self, quantity: str, joint: str | None = None) -> Origin:
        """Where one number comes from."""
        return self.origins.get((quantity, joint), self.origin)


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """The joints of an arm and its layers, outermost first."""

    joints: ArmJoints
    layers: tuple[Layer, ...]

    @classmethod
    def of(cls, joints: ArmJoints, layers: Iterable[Layer]) -> "Stack":
        """Return the stack of these layers, put in the order of their kinds.

        Raises:
            LimitsError: a layer is not of these joints, or is limited to what is no control mode.
        """
        ordered = sorted(layers, key=lambda layer: STACK_ORDER.index(layer.kind))
        for layer in ordered:
            if layer.ceilings.shape != (joints.cells,):
                reason = f"layer {layer.kind} is of other joints"
                raise LimitsError(reason, file=layer.origin.source, value=layer.ceilings.shape, bound=(joints.cells,))
            if layer.mode is not None and layer.mode not in SLOTS:
                reason = f"layer {layer.kind} is of no control mode"
                raise LimitsError(reason, file=layer.origin.source, key="control_mode", value=int(layer.mode))
        return cls(joints, tuple(ordered))
