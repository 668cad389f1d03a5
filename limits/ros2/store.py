"""The parameters of one ROS node: names, typed values, and what was only declared."""

from collections.abc import Mapping

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic, Weight
from limits.formats.ros_yaml import Value, read_parameters
from limits.ros2.keys import ROOT, split_name
from limits.ros2.places import holds_joint_limits, rooted

ParameterValue = Value
"""What a parameter can hold: bool, integer, double, string or a list of one of them."""

TYPE_NAMES: dict[type, str] = {bool: "bool", int: "integer", float: "double", str: "string", tuple: "array"}
"""What ROS calls the types."""


class ParameterStore:
    """Parameters by their full names.

    `compat` makes every reader of it behave as the reference. `integers` tells whether a whole number may stand
    for a double; left out, it may unless `compat` is set. What is legal but doubtful is added to `diagnostics`.
    """

    def __init__(
        self,
        values: Mapping[str, ParameterValue],
        *,
        file: str | None = None,
        compat: bool = False,
        integers: bool | None = None,
    ) -> None:
        self._values = dict(values)
        self._given = frozenset(values)
        self._joints: dict[str, list[str]] | None = None
        self.file = file
        self.compat = compat
        self.integers = not compat if integers is None else integers
        self.diagnostics: list[Diagnostic] = []

    @classmethod
    def read(
        cls,
        text: str,
        node: str | None = None,
        *,
        file: str | None = None,
        compat: bool = False,
        integers: bool | None = None,
    ) -> "ParameterStore":
        """Return the parameters of a node in a YAML file; see read_parameters for `node` and errors.

        By default joint limits may stand in a namespace, as those for MoveIt do, see `rooted`.
        """
        if compat:
            section = read_parameters(text, node, file=file, compat=True)
            return cls(section.values, file=file, compat=True, integers=integers)
        section = read_parameters(text, node, file=file, wanted=holds_joint_limits)
        placed = rooted(section, node, file)
        store = cls(placed.values, file=file, integers=integers)
        store.diagnostics += placed.notes
        for name in section.not_given:
            store.doubt(*split_name(name), None, "is null, which counts as not given", Weight.NOTE)
        return store

    def has(self, name: str) -> bool:
        """Tell whether a parameter exists; by default one that was only declared does not count, in compat it does."""
        return name in (self._values if self.compat else self._given)

    def names(self) -> tuple[str, ...]:
        """Return the names that were given, in their order; not those only declared."""
        return tuple(name for name in self._values if name in self._given)

    def joints(self) -> tuple[str, ...]:
        """Return what is named below `joint_limits`, in the order of its first appearance."""
        return tuple(self._by_joint())

    def keys_of(self, joint: str) -> list[str]:
        """Return the keys that were given for a joint."""
        return self._by_joint().get(joint, [])

    def value(self, name: str) -> ParameterValue:
        """Return the value of a parameter that exists, of whatever type."""
        return self._values[name]

    def declare(self, name: str, default: bool | float) -> None:
        """Add a parameter with its default, unless it is there.

        Raises:
            LimitsError: it is there with a value of another type.
        """
        if name not in self._values:
            self._values[name] = default
        elif isinstance(default, bool):
            self.flag(name)
        else:
            self.number(name)

    def flag(self, name: str) -> bool:
        """Return the value of a parameter of type bool.

        Raises:
            LimitsError: it has another type.
        """
        value = self._values[name]
        if isinstance(value, bool):
            return value
        raise self._wrong_type(name, "bool")

    def number(self, name: str) -> float:
        """Return the value of a parameter of type double, or integer where those are accepted.

        Raises:
            LimitsError: it has another type.
        """
        value = self._values[name]
        if isinstance(value, float) or (self.integers and type(value) is int):
            return float(value)
        raise self._wrong_type(name, "double")

    def doubt(self, joint: str | None, key: str, value: object, reason: str, weight: Weight = Weight.DOUBT) -> None:
        """Add a diagnostic."""
        self.diagnostics.append(Diagnostic(joint, key, value, reason, weight))

    def _by_joint(self) -> dict[str, list[str]]:
        if self._joints is None:
            self._joints = {}
            for name in self.names():
                joint, key = split_name(name)
                if joint and name.startswith(f"{ROOT}."):
                    self._joints.setdefault(joint, []).append(key)
        return self._joints

    def _wrong_type(self, name: str, expected: str) -> LimitsError:
        value = self._values[name]
        found = TYPE_NAMES[type(value)]
        joint, key = split_name(name)
        return LimitsError(f"is of type {found}, not {expected}", file=self.file, joint=joint, key=key, value=value)
