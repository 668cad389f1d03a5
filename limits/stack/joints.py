"""The joints of an arm and the quantities that are limited, as one vector of ceilings.

A ceiling is a limit written so that the smaller number is the tighter one: `position_lower` changes its sign, all
others stay as they are; infinity says nothing. Cells of the vector: seven quantities of n joints each, then two of the
arm. Units: rad or m and per s, s², s³, N·m or N; twists in m/s and rad/s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limits.errors import LimitsError
from limits.formats.urdf_records import JointType

Array = NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)

LOWER, UPPER = "position_lower", "position_upper"
MAXIMA = ("velocity", "acceleration", "deceleration", "jerk", "effort")
JOINT_QUANTITIES = (LOWER, UPPER, *MAXIMA)
"""What is limited joint by joint."""
TWIST_QUANTITIES = ("twist_linear", "twist_angular")
"""What is limited for the whole arm."""
QUANTITIES = JOINT_QUANTITIES + TWIST_QUANTITIES

_LENGTHS = {LOWER: "m", UPPER: "m", "velocity": "m/s", "acceleration": "m/s²", "deceleration": "m/s²", "jerk": "m/s³"}
_OTHERS = {"twist_linear": "m/s", "twist_angular": "rad/s"}


class Bounds(NamedTuple):
    """Limits as numbers: arrays of shape (n,) and two numbers of the arm; infinite where nothing is said."""

    position_lower: Array
    position_upper: Array
    velocity: Array
    acceleration: Array
    deceleration: Array
    jerk: Array
    effort: Array
    twist_linear: float = np.inf
    twist_angular: float = np.inf


@dataclass(frozen=True, slots=True)
class ArmJoints:
    """The joints of an arm in its order, with their types.

    Raises:
        LimitsError: names and types differ in count, or a name stands twice.
    """

    names: tuple[str, ...]
    types: tuple[JointType, ...]
    places: Mapping[str, int] = field(init=False, repr=False, compare=False)
    """The place of each joint in the order, from 0."""

    def __post_init__(self) -> None:
        if len(self.names) != len(self.types):
            raise LimitsError("joints and types differ in count", value=len(self.types), bound=len(self.names))
        refuse_twice(self.names)
        object.__setattr__(self, "places", {name: place for place, name in enumerate(self.names)})

    @property
    def cells(self) -> int:
        """How many ceilings there are."""
        return len(JOINT_QUANTITIES) * len(self.names) + len(TWIST_QUANTITIES)

    def cell(self, quantity: str, joint: str | None = None) -> int:
        """Index of a ceiling; a twist has no joint.

        Raises:
            LimitsError: there is no such quantity or joint.
        """
        if quantity in TWIST_QUANTITIES and joint is None:
            return self.cells - len(TWIST_QUANTITIES) + TWIST_QUANTITIES.index(quantity)
        if quantity not in JOINT_QUANTITIES:
            raise LimitsError("is no limited quantity of a joint", joint=joint, key=quantity, bound=QUANTITIES)
        if joint is None or joint not in self.places:
            raise LimitsError("the arm has no such joint", joint=joint, key=quantity, value=joint, bound=self.names)
        return JOINT_QUANTITIES.index(quantity) * len(self.names) + self.places[joint]

    def named(self, cell: int) -> tuple[str, str | None]:
        """Quantity and joint of a ceiling."""
        row, column = divmod(cell, max(len(self.names), 1))
        if row < len(JOINT_QUANTITIES) and self.names:
            return JOINT_QUANTITIES[row], self.names[column]
        return TWIST_QUANTITIES[cell - self.cells + len(TWIST_QUANTITIES)], None

    def unit(self, quantity: str, joint: str | None = None) -> str:
        """Unit of a limit of a joint, or of a twist."""
        if quantity in _OTHERS:
            return _OTHERS[quantity]
        prismatic = joint is not None and self.types[self.places[joint]] is JointType.PRISMATIC
        if quantity == "effort":
            return "N" if prismatic else "N·m"
        length = _LENGTHS[quantity]
        return length if prismatic else length.replace("m", "rad")

    def ceilings(self, numbers: Mapping[str, ArrayLike]) -> Array:
        """Checked ceilings of numbers by quantity, one a joint or one twist; what is left out says nothing.

        A deceleration that is left out or infinite is the acceleration: an acceleration limit binds both ways.

        Raises:
            LimitsError: an unknown quantity, not one number a joint, NaN, a negative maximum, or a range with nothing
                in it.
        """
        for quantity in numbers:
            if quantity not in QUANTITIES:
                raise LimitsError("is no limited quantity", key=quantity, bound=QUANTITIES)
        rows = {quantity: self._row(quantity, numbers.get(quantity)) for quantity in QUANTITIES}
        self._refuse_empty(rows[LOWER], rows[UPPER])
        slowing = rows["deceleration"]
        rows["deceleration"] = np.where(np.isinf(slowing), rows["acceleration"], slowing)
        rows[LOWER] = 0.0 - rows[LOWER]
        return read_only(np.concatenate(tuple(rows.values())))

    def bounds(self, ceilings: Array) -> Bounds:
        """The numbers of ceilings, shape (cells,); views of them where the sign does not change."""
        n = len(self.names)
        rows = ceilings[: len(JOINT_QUANTITIES) * n].reshape(len(JOINT_QUANTITIES), n)
        lower, upper, velocity, acceleration, deceleration, jerk, effort = rows
        return Bounds(
            0.0 - lower, upper, velocity, acceleration, deceleration, jerk, effort, *map(float, ceilings[-2:])
        )

    def _row(self, quantity: str, numbers: ArrayLike | None) -> Array:
        twist = quantity in TWIST_QUANTITIES
        count = 1 if twist else len(self.names)
        if numbers is None:
            return np.full(count, -np.inf if quantity == LOWER else np.inf)
        row = np.array(numbers, dtype=np.float64)
        if row.shape != (() if twist else (count,)):
            wanted = "one number" if twist else "one number a joint"
            raise LimitsError(f"needs {wanted}", key=quantity, value=row.shape, bound=(count,))
        row = row.reshape(count)
        wrong = np.isnan(row) if quantity in {LOWER, UPPER} else ~(row >= 0.0)
        if wrong.any():
            at = int(np.argmax(wrong))
            reason = "is not a number" if np.isnan(row[at]) else "is negative"
            joint = None if twist else self.names[at]
            raise LimitsError(reason, joint=joint, key=quantity, value=float(row[at]), bound=0.0)
        return row

    def _refuse_empty(self, lower: Array, upper: Array) -> None:
        empty = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
        if empty.any():
            at = int(np.argmax(empty))
            raise LimitsError(
                "bounds leave no position",
                joint=self.names[at],
                key=LOWER,
                value=float(lower[at]),
                bound=float(upper[at]),
            )


def read_only(array: NDArray[Number]) -> NDArray[Number]:
    """The array itself, which nobody can change any more."""
    array.flags.writeable = False
    return array


def refuse_twice(names: Sequence[str], file: str | None = None) -> None:
    """Refuse names that stand twice.

    Raises:
        LimitsError: naming the first of them.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise LimitsError("the joint stands twice", file=file, joint=name, key="name", value=name)
        seen.add(name)
