"""Small arms, layers and strategies for the tests of the stack, and a fold that shares no code with it."""

import math

import numpy as np
from hypothesis import strategies as st

from limits.formats.urdf_records import JointType
from limits.stack.joints import JOINT_QUANTITIES, QUANTITIES, ArmJoints
from limits.stack.layer import SLOTS, Layer, LayerKind, Origin, Stack

TWO = ArmJoints(("shoulder", "elbow"), (JointType.REVOLUTE, JointType.PRISMATIC))

MAKER = Origin("hard:device", "arm", 1)
ALICE = Origin("application", "alice/hmi", 2)
SITE = Origin("fleet.toml", "config", 0)


def layer(kind: LayerKind = LayerKind.HARD, origin: Origin = MAKER, **numbers: object) -> Layer:
    """A layer of the two joints: one number for both, or one each."""
    full = {
        key: np.broadcast_to(np.array(value), (2,)) if key in JOINT_QUANTITIES else value
        for key, value in numbers.items()
    }
    return Layer(kind, origin, TWO.ceilings(full))  # type: ignore[arg-type]  # numbers of tests are right


def naive(stack: Stack, quantity: str, joint: str | None, mode: int | None) -> float:
    """The tightest number of all layers that count in a mode, found by looking at each."""
    lower = quantity == "position_lower"
    best = -math.inf if lower else math.inf
    for one in stack.layers:
        if mode is not None and one.mode is not None and one.mode != mode:
            continue
        bounds = stack.joints.bounds(one.ceilings)
        values = getattr(bounds, quantity)
        value = values if joint is None else values[stack.joints.names.index(joint)]
        best = max(best, value) if lower else min(best, value)
    return float(best)


def places() -> list[tuple[str, str | None]]:
    """Every quantity with every joint it has."""
    return [
        (quantity, joint)
        for quantity in QUANTITIES
        for joint in (TWO.names if quantity in JOINT_QUANTITIES else (None,))
    ]


_LEVELS = st.sampled_from([math.inf, math.inf, 0.0, 1.0, 1.0, 2.5, -1.5])


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """Any layer of the two joints; equal numbers are frequent."""
    ceilings = np.array(draw(st.lists(_LEVELS, min_size=TWO.cells, max_size=TWO.cells)))
    mode = draw(st.sampled_from([None, None, *SLOTS]))
    origin = Origin(draw(st.sampled_from("abc")), draw(st.sampled_from("xyz")), draw(st.integers(0, 9)))
    return Layer(draw(st.sampled_from(LayerKind)), origin, ceilings, mode)


stacks = st.lists(layers(), max_size=7).map(lambda found: Stack.of(TWO, found))
