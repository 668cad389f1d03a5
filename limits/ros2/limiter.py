"""What every stateful limiter has: joints with their limits, the last command, and the answer it gives."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import msgspec
import numpy as np

from limits.errors import LimitsError
from limits.ros2.arrays import INTERFACES, Bools, Floats, JointValues, quantities
from limits.ros2.reasons import Reasons
from limits.ros2.records import JointLimits
from limits.ros2.updates import Parameter, check_for_limits_update


class Enforced(msgspec.Struct, frozen=True):
    """The command after limiting, and which joints were limited (shape (n,))."""

    desired: JointValues
    limited: Bools
    reasons: Reasons = msgspec.field(default_factory=dict)


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

    compat: ClassVar[bool] = False
    """Whether it behaves as the reference."""

    def __init__(self, limits: Sequence[JointLimits], names: Sequence[str] | None = None) -> None:
        self.names = tuple(f"#{number}" for number in range(len(limits))) if names is None else tuple(names)
        self.limits: tuple[JointLimits, ...] = ()
        self.update(limits)

    def update(self, limits: Sequence[JointLimits]) -> None:
        """Replace the hard limits; the next `enforce` uses them.

        Raises:
            LimitsError: not one record a joint, or one that makes no sense.
        """
        if len(limits) != len(self.names):
            raise LimitsError("names and limits differ in count", value=len(limits), bound=len(self.names))
        self._prepare(limits)
        self.limits = tuple(limits)

    def set_parameters(self, parameters: Sequence[Parameter]) -> bool:
        """Apply parameters that a running node was given; return whether limits changed. Soft limits stay.

        Raises:
            LimitsError: the limits would make no sense; nothing was changed. Compat accepts all.
        """
        results = [
            check_for_limits_update(name, parameters, limits, compat=self.compat)
            for name, limits in zip(self.names, self.limits, strict=True)
        ]
        if any(changed for changed, _ in results):
            pairs = zip(results, self.limits, strict=True)
            self.update([new if changed else old for (changed, new), old in pairs])
            return True
        return False

    def _check_sizes(self, *records: JointValues) -> None:
        """Refuse arrays that are not one number a joint."""
        shape = (len(self.names),)
        for record in records:
            for interface, given in zip(INTERFACES, quantities(record), strict=True):
                if given is not None and given.shape != shape:
                    raise LimitsError("needs one number a joint", key=interface, value=given.shape, bound=shape)

    @abstractmethod
    def _prepare(self, limits: Sequence[JointLimits]) -> None:
        """Check the limits and work out what `enforce` needs of them."""

    @abstractmethod
    def configure(self, state: JointValues) -> None:
        """Take a state as the last command.

        Raises:
            LimitsError: an array is not one number a joint.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forget the last command: the next one starts from the state."""

    @abstractmethod
    def enforce(self, actual: JointValues, desired: JointValues, dt: float) -> Enforced:
        """Return the command inside the limits; `dt` in seconds since the last command.

        Raises:
            LimitsError: the position state forbids a position command.
        """
