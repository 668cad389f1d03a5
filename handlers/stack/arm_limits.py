"""The limit stack of one arm: built from its state, folded when asked, kept until something changes."""

import math
from dataclasses import replace
from functools import lru_cache
from operator import is_
from typing import NamedTuple

import numpy as np

from handlers.stack.limit_layers import (
    APPLICATION_SLOT,
    OF_SOFT,
    PARAMETERS_SLOT,
    SAFETY_SLOT,
    SOFT_MODES,
    application_layers,
    parameter_layers,
    safety_inputs,
    safety_layers,
    soft_inputs,
    soft_layers,
)
from handlers.state.arm_state import ArmState
from handlers.state.limit_sources import LimitSources, Placed, place
from handlers.state.refusals import description_of
from limits.formats.urdf_records import JointType
from limits.intrinsic.joint_limits import JointLimitVectors
from limits.stack.fold import Effective, fold
from limits.stack.joints import ArmJoints, Bounds
from limits.stack.layer import MACHINE_KINDS, Layer, LayerKind, Origin, Stack
from limits.stack.soft_ends import Guard, guard_of
from limits.stack.sources import kinova_layer
from schema.arms import Description, JointInfo, Slot
from schema.enums import ControlMode
from schema.items import CONFIG_ITEMS
from schema.messages import KinematicLimits, Message

ARM_USER = "@arm"
"""Who set what an arm tells."""
PROFILE_USER = "@profile"
"""Who set the figures of a model's profile."""


class _Measured(NamedTuple):
    """What an item of the arm is bounded by."""

    quantity: str
    field: str
    """Of the hard limits."""
    angular: bool


MEASURED: dict[str, _Measured] = {
    item.key: _Measured(OF_SOFT[item.hard][0], item.hard, angular=item.quantity.angular)
    for item in CONFIG_ITEMS
    if item.quantity is not None
}
"""Items of the arm that the outer layers bound, by key."""


class OuterBounds(NamedTuple):
    """Upper bounds of an item, in its unit, and the source of each; infinite and empty where nothing is said."""

    high: tuple[float, ...]
    sources: tuple[str, ...]


class Inputs(NamedTuple):
    """Everything that the outer layers are made of, as objects that are replaced when they change."""

    description: Description | None
    sources: LimitSources
    application: object
    application_unread: object
    parameters: object
    parameters_unread: object

    @classmethod
    def of(cls, state: ArmState) -> "Inputs":
        """Those of a state."""
        reported, unread = state.reported, state.unread
        return cls(
            state.description, state.sources, reported.get(APPLICATION_SLOT), unread.get(APPLICATION_SLOT),
            reported.get(PARAMETERS_SLOT), unread.get(PARAMETERS_SLOT),
        )  # fmt: skip

    def stand_in(self, state: ArmState) -> bool:
        """Whether the state holds the same objects."""
        description, sources, application, application_unread, parameters, parameters_unread = self
        if description is not state.description or sources is not state.sources:
            return False
        read = state.reported.get
        if application is not read(APPLICATION_SLOT) or parameters is not read(PARAMETERS_SLOT):
            return False
        if not state.unread:
            return application_unread is None and parameters_unread is None
        unread = state.unread.get
        return application_unread is unread(APPLICATION_SLOT) and parameters_unread is unread(PARAMETERS_SLOT)


class _Outer(NamedTuple):
    """The layers that bound what may be asked of the arm, and what was made of them."""

    inputs: Inputs
    joints: ArmJoints
    given: Placed
    """What the settings and their files say."""
    placed: Placed
    """The same; its reports have what of the parameters makes no sense, too."""
    machine: tuple[Layer, ...]
    """Hard limits and files."""
    layers: tuple[Layer, ...]
    """These, then application limits and caps of the plant."""
    bounds: dict[str, OuterBounds]


class ArmLimits:
    """What limits one arm. Every property is of the present state: cached, and made anew after a change.

    Raises:
        BrokerError: arm_not_read while the arm has not been described.
    """

    __slots__ = ("_folded", "_guard", "_guard_at", "_kept", "_safety", "_soft", "_stack", "_stack_at", "_state")

    def __init__(self, state: ArmState) -> None:
        self._state = state
        self._kept: _Outer | None = None
        self._stack: Stack | None = None
        self._stack_at: tuple[object, ...] = ()
        self._folded: Effective | None = None
        self._soft: dict[ControlMode, tuple[tuple[object, ...], list[Layer]]] = {}
        self._safety: tuple[tuple[object, ...], list[Layer]] = ((), [])
        self._guard: Guard | None = None
        self._guard_at: tuple[object, object, object] = (None, None, None)

    @property
    def joints(self) -> ArmJoints:
        """The joints of the arm."""
        return self._outer().joints

    @property
    def placed(self) -> Placed:
        """What the settings and their files say about these joints; its reports tell of senseless parameters too."""
        return self._outer().placed

    @property
    def stack(self) -> Stack:
        """All layers: a limit that is being changed stands twice, as it was and as it will be, until read back."""
        outer, state = self._outer(), self._state
        at = (outer, state.rev, state.seq, state.read_at_us)
        if self._stack is None or at[0] is not self._stack_at[0] or at[1:] != self._stack_at[1:]:
            soft = [layer for mode in SOFT_MODES for layer in self._soft_layers(outer.joints, mode)]
            self._stack = Stack.of(outer.joints, (*outer.layers, *soft, *self._safety_layers(outer)))
            self._stack_at, self._folded = at, None
        return self._stack

    @property
    def folded(self) -> Effective:
        """The effective limits of every mode with their provenance."""
        stack = self.stack
        if self._folded is None:
            self._folded = fold(stack)
        return self._folded

    def effective(self, mode: int | None) -> Bounds:
        """The effective limits in a mode, rad or m; None: the tightest over the modes, for a mode that is not known."""
        return self.folded.at(mode)

    def bounds(self, key: str) -> OuterBounds:
        """Bounds of an item of `MEASURED` by the outer layers: hard limits, files, application limits, site caps."""
        outer = self._outer()
        known = outer.bounds.get(key)
        if known is None:
            known = outer.bounds[key] = _bounds(outer, MEASURED[key], description_of(self._state))
        return known

    def outer(self, slot: Slot) -> tuple[float, ...]:
        """Upper bounds of a slot by the outer layers, in the unit of its item, one a component."""
        return self.bounds(slot[0]).high

    def sources(self, slot: Slot) -> tuple[str, ...]:
        """Source of each bound of `outer`."""
        return self.bounds(slot[0]).sources

    @property
    def system(self) -> Effective:
        """The fold of the layers that describe the machine: what application limits must stay within."""
        return self.machine()

    def machine(self, *, without: LayerKind | None = None) -> Effective:
        """The fold of the hard limits and the files, without the records of JointSafety and one kind of layer."""
        outer = self._outer()
        layers = tuple(layer for layer in outer.machine if layer.kind is not without and not layer.safeties)
        return fold(Stack(outer.joints, layers))

    @property
    def guard(self) -> Guard | None:
        """The margins between soft and hard ends; None where there are none."""
        outer, state, known = self._outer(), self._state, self._guard_at
        reported, unread = state.reported.get(SAFETY_SLOT), state.unread.get(SAFETY_SLOT)
        if known[0] is not outer or known[1] is not reported or known[2] is not unread:
            ends = Stack.of(outer.joints, (*outer.layers, *self._safety_layers(outer)))
            self._guard, self._guard_at = guard_of(ends), (outer, reported, unread)
        return self._guard

    def with_value(self, slot: Slot, value: Message) -> "ArmLimits":
        """The limits as they will be when a slot has this value."""
        state = self._state
        changed = replace(
            state,
            desired=state.desired | {slot: value},
            reported=state.reported | {slot: value},
            unread={other: values for other, values in state.unread.items() if other != slot},
            limits=None,
        )
        return self.of_changed(changed)

    def of_changed(self, state: ArmState) -> "ArmLimits":
        """The limits of a state that is this one with some other values: what those leave as it is is not made anew."""
        state.limits = changed = ArmLimits(state)
        changed._kept, changed._soft, changed._safety = self._outer(), dict(self._soft), self._safety
        changed._guard, changed._guard_at = self._guard, self._guard_at
        return changed

    def _safety_layers(self, outer: _Outer) -> list[Layer]:
        """The JointSafety records, made anew when one of them changed."""
        at = (outer, *safety_inputs(self._state))
        if not _same(self._safety[0], at):
            self._safety = (at, safety_layers(outer.joints, self._state, outer.placed))
        return self._safety[1]

    def _soft_layers(self, joints: ArmJoints, mode: ControlMode) -> list[Layer]:
        """The soft limits of a mode, made anew when one of them changed."""
        at = (joints, *soft_inputs(self._state, mode))
        kept = self._soft.get(mode)
        if kept is None or not _same(kept[0], at):
            kept = self._soft[mode] = (at, soft_layers(joints, self._state, mode))
        return kept[1]

    def _outer(self) -> _Outer:
        state, kept = self._state, self._kept
        if kept is not None and kept.inputs.stand_in(state):
            return kept
        kept = self._kept = _build(state, Inputs.of(state), kept)
        return kept


def _same(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    """Whether two rows hold the same objects."""
    return len(left) == len(right) and all(map(is_, left, right))


def limits_of(state: ArmState) -> ArmLimits:
    """The limits of an arm."""
    kept = state.limits
    if type(kept) is ArmLimits:
        return kept
    state.limits = made = ArmLimits(state)
    return made


def joints_of(description: Description) -> ArmJoints:
    """The joints that an arm told of."""
    return _joints(description.joints)


@lru_cache(maxsize=256)
def _joints(joints: tuple[JointInfo, ...]) -> ArmJoints:
    """One object for all arms with the same joints."""
    return ArmJoints(tuple(joint.name for joint in joints), tuple(JointType(joint.type) for joint in joints))


def vectors_of(effective: Effective, mode: int | None = None) -> JointLimitVectors:
    """The six vectors of effective limits that JointLimits knows."""
    bounds = effective.at(mode)
    return JointLimitVectors(
        bounds.position_lower, bounds.position_upper, bounds.velocity, bounds.acceleration, bounds.jerk, bounds.effort
    )


def _build(state: ArmState, inputs: Inputs, before: _Outer | None) -> _Outer:
    description = description_of(state)
    joints = joints_of(description)
    same_place = before is not None and before.joints == joints and before.inputs.sources is state.sources
    given = before.given if before is not None and same_place else place(state.sources, joints)
    by = ARM_USER if description.hard_source == "hard:device" else PROFILE_USER
    hard = kinova_layer(joints, description.hard_limits, Origin(description.hard_source, by, state.described_at_us))
    files = [layer for layer in given.layers if layer.kind in MACHINE_KINDS]
    parameters, doubts = parameter_layers(joints, state, given)
    machine = Stack.of(joints, (hard, *files, *parameters)).layers
    site = [layer for layer in given.layers if layer.kind is LayerKind.SITE]
    layers = (*machine, *application_layers(joints, state), *site)
    placed = given._replace(reports=(*given.reports, *doubts)) if doubts else given
    return _Outer(inputs, joints, given, placed, machine, Stack.of(joints, layers).layers, {})


def _bounds(outer: _Outer, measured: _Measured, description: Description) -> OuterBounds:
    """The tightest outer layer of each component; the arm's own number is given as the arm gives it."""
    layers = [layer for layer in outer.layers if not layer.safeties]
    joints = (None,) if measured.quantity in _TWISTS else outer.joints.names
    cells = [outer.joints.cell(measured.quantity, joint) for joint in joints]
    ceilings = np.stack([layer.ceilings[cells] for layer in layers])
    high, sources = [], []
    for column, (joint, tightest) in enumerate(zip(joints, map(int, ceilings.argmin(axis=0)), strict=True)):
        layer, ceiling = layers[tightest], float(ceilings[tightest, column])
        unlimited = math.isinf(ceiling)
        sources.append("" if unlimited else layer.origin_of(measured.quantity, joint).source)
        if layer.kind is LayerKind.HARD and not unlimited:
            high.append(_component(description.hard_limits, measured.field, column))
        else:
            high.append(math.degrees(ceiling) if measured.angular else ceiling)
    return OuterBounds(tuple(high), tuple(sources))


_TWISTS = frozenset({"twist_linear", "twist_angular"})


def _component(limits: KinematicLimits, field: str, column: int) -> float:
    value: float | tuple[float, ...] = getattr(limits, field)
    return value[column] if isinstance(value, tuple) else value
