"""What every stateful limiter has: joints with their limits, the last command, and the answer it gives."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from limits.errors import LimitsError
from limits.ros2.arrays import INTERFACES, Bools, Floats, JointValues
from limits.ros2.reasons import Reasons
from limits.ros2.records import JointLimits


@dataclass(frozen=True, slots=True)
class Enforced:
    """The command after limiting, and which joints were limited (shape (n,))."""

    desired: JointValues
    limited: Bools
    reasons: Reasons = field(default_factory=dict)


class CommandMemory:
    """The last command of n joints, each quantity known or not; a known NaN is kept as such."""

    def __init__(self, joints: int) -> None:
        self.values: Floats = np.full((len(INTERFACES), joints), np.nan)
        self.known: Bools = np.zeros((len(INTERFACES), joints), dtype=bool)

    def configure(self, state: JointValues) -> None:
        """Take a state as the last command; what it does not give becomes unknown."""
        for row, interface in enumerate(INTERFACES):
            given = getattr(state, interface)
            self.known[row] = given is not None
            self.values[row] = np.nan if given is None else given

    def seed(self, actual: JointValues, desired: JointValues) -> None:
        """Where nothing at all is remembered, take the state of what is commanded, else the command itself."""
        empty: Bools = np.logical_not(self.known.any(axis=0))
        if not empty.any():
            return
        for row, interface in enumerate(INTERFACES):
            wanted = getattr(desired, interface)
            state = getattr(actual, interface)
            if wanted is None:
                continue
            if state is None:
                self._store(row, wanted, empty & ~np.isnan(wanted))
            else:
                self._store(row, state, empty)

    def update_prev_command(self, desired: JointValues) -> None:
        """Remember every quantity that is given and not NaN."""
        for row, interface in enumerate(INTERFACES):
            wanted = getattr(desired, interface)
            if wanted is not None:
                self._store(row, wanted, ~np.isnan(wanted))

    def _store(self, row: int, source: Floats, where: Bools) -> None:
        np.copyto(self.values[row], source, where=where)
        self.known[row] |= where


class Limiter(ABC):
    """A set of n joints with hard limits; `enforce` limits one command of all of them.

    Raises:
        LimitsError: names and limits differ in count.
    """

    def __init__(self, limits: Sequence[JointLimits], names: Sequence[str] | None = None) -> None:
        self.names = tuple(f"#{number}" for number in range(len(limits))) if names is None else tuple(names)
        self.memory = CommandMemory(len(self.names))
        self.limits: tuple[JointLimits, ...] = ()
        self.update(limits)

    def update(self, limits: Sequence[JointLimits]) -> None:
        """Replace the hard limits; the next `enforce` uses them."""
        if len(limits) != len(self.names):
            raise LimitsError("names and limits differ in count", value=len(limits), bound=len(self.names))
        self._prepare(limits)
        self.limits = tuple(limits)

    @abstractmethod
    def _prepare(self, limits: Sequence[JointLimits]) -> None:
        """Check the limits and work out what `enforce` needs of them."""

    def configure(self, state: JointValues) -> None:
        """Take a state as the last command."""
        self.memory.configure(state)

    def reset(self) -> None:
        """Forget the last command: the next one starts from the state."""
        self.memory = CommandMemory(len(self.names))

    @abstractmethod
    def enforce(self, actual: JointValues, desired: JointValues, dt: float) -> Enforced:
        """Return the command inside the limits; `dt` in seconds since the last command.

        Raises:
            LimitsError: the position state forbids a position command.
        """
