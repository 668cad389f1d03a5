"""Parameter files of ROS nodes: `<node>: ros__parameters:`, with namespaces, scalars by the rules of ROS."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, cast

from limits.errors import LimitsError
from limits.formats.angles import angle
from limits.formats.ros_scalars import BOOLS, Scalar, resolve_scalar
from limits.formats.yaml_tree import MappingNode, ScalarNode, SequenceNode, parse_yaml

PARAMETERS_KEY = "ros__parameters"
"""The key below the name of a node that holds its parameters."""
NOT_GIVEN = frozenset({"", "null", "Null", "NULL", "~"})
"""Unquoted scalars that by default mean that the parameter is not given; the reference takes them for strings."""

Value = Scalar | tuple[bool, ...] | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]


class Section(NamedTuple):
    """The parameters of one node or pattern of nodes (`/arm/driver`, `/**`)."""

    node: str
    """The absolute name; empty where the file has no node at all and holds the parameters themselves."""
    values: dict[str, Value]
    not_given: tuple[str, ...]
    """Names of parameters whose value is null."""
    angles: Mapping[str, str]
    """Tag and text of each parameter that is written as an angle; its value is in radians."""


def read_parameters(
    text: str,
    node: str | None = None,
    *,
    file: str | None = None,
    compat: bool = False,
    wanted: Callable[[Section], bool] = lambda _: True,
) -> Section:
    """Read the parameters of a node; without its name the file must hold one section.

    Of several sections the one counts that alone is `wanted`. In compat a key that is there twice keeps its last
    value, null is a string, as in the reference, and angles are refused.

    Raises:
        LimitsError: malformed YAML (see parse_yaml), a key twice, a value where none may be, lists of mixed types; no
            section for the node, or several, which are listed.
    """
    sections = read_sections(text, file=file, compat=compat)
    matching = [one for one in sections if node is None or matches(one.node, node)]
    if len(matching) > 1:
        matching = [one for one in matching if wanted(one)] or matching
    if len(matching) != 1:
        count = "no parameters" if not matching else "several sections of parameters"
        found = [one.node for one in (matching or sections)]
        raise LimitsError(f"{count} for node {node or 'of any name'}", file=file, key=PARAMETERS_KEY, value=found)
    return matching[0]


def read_sections(text: str, *, file: str | None = None, compat: bool = False) -> list[Section]:
    """Read the parameters of every node of a file; see read_parameters.

    Raises:
        LimitsError: no YAML of parameters.
    """
    root = parse_yaml(text, file)
    if not isinstance(root, MappingNode):
        raise LimitsError("holds no parameters", file=file)
    reader = _Reader(file, compat)
    sections = list(reader.sections(root, ""))
    return sections or [reader.section("", root)]


def matches(pattern: str, node: str) -> bool:
    """Tell whether a section is for a node: `*` stands for one name, `**` for any number, no name for all nodes."""
    if not pattern:
        return True
    expression = re.escape(pattern).replace(r"/\*\*", r"(/\w+)*").replace(r"/\*", r"/\w+")
    return re.fullmatch(expression, _absolute(node)) is not None


def _absolute(name: str) -> str:
    """Return the name of a node with exactly one slash before each part."""
    return "".join(f"/{part}" for part in name.split("/") if part)


class _Reader(NamedTuple):
    """How to read: the file for errors, and whether to do as the reference."""

    file: str | None
    compat: bool

    def sections(self, mapping: MappingNode, namespace: str) -> Iterator[Section]:
        """Find the parameters below every node of a mapping."""
        self._refuse_twice(mapping)
        for key, value in mapping.pairs:
            if key.text == PARAMETERS_KEY:
                if not isinstance(value, MappingNode):
                    raise self._error("is no mapping", key)
                if not namespace:
                    raise self._error("stands below no node", key)
                yield self.section(namespace, value)
            elif isinstance(value, MappingNode):
                yield from self.sections(value, _absolute(f"{namespace}/{key.text}"))

    def section(self, node: str, mapping: MappingNode) -> Section:
        """Flatten the parameters of one node."""
        values: dict[str, Value] = {}
        not_given: list[str] = []
        angles: dict[str, str] = {}
        for name, key, value in self._leaves(mapping, ""):
            if name in values and not self.compat:
                raise self._error("is there twice", key)
            if isinstance(value, SequenceNode):
                values[name] = self._list(key, value)
            elif value.unit:
                values[name] = self._scalar(key, value)
                angles[name] = f"{value.unit} {value.text}"
            elif value.text in NOT_GIVEN and not value.quoted and not self.compat:
                not_given.append(name)
            elif not value.text and not value.quoted:
                raise self._error("has no value", key)
            else:
                values[name] = self._scalar(key, value)
        return Section(node, values, tuple(not_given), angles)

    def _leaves(self, mapping: MappingNode, prefix: str) -> Iterator[tuple[str, ScalarNode, ScalarNode | SequenceNode]]:
        self._refuse_twice(mapping)
        for key, value in mapping.pairs:
            name = f"{prefix}{key.text}"
            if isinstance(value, MappingNode):
                yield from self._leaves(value, f"{name}.")
            else:
                yield name, key, value

    def _list(self, key: ScalarNode, value: SequenceNode) -> Value:
        items = tuple(self._scalar(key, item) for item in value.items)
        if len({type(item) for item in items}) > 1:
            raise self._error("is a list of several types", key)
        return cast("Value", items)

    def _scalar(self, key: ScalarNode, value: ScalarNode) -> Scalar:
        if not value.unit:
            return resolve_scalar(value.text, quoted=value.quoted)
        if self.compat:
            raise self._error(f"the tag {value.unit} is not read", key)
        radians = angle(value.text, value.unit)
        if radians is None:
            raise self._error(f"is no angle: {value.unit} {value.text}", key)
        return radians

    def _refuse_twice(self, mapping: MappingNode) -> None:
        seen: set[str] = set()
        for key, _ in mapping.pairs:
            if key.text in seen and not self.compat:
                raise self._error("is there twice", key)
            seen.add(key.text)

    def _error(self, reason: str, key: ScalarNode) -> LimitsError:
        return LimitsError(f"{reason} (line {key.line})", file=self.file, key=key.text)


def write_parameters(values: Mapping[str, Value], node: str) -> str:
    """Write the parameters of a node as YAML that ROS reads back with the same types; doubles have a point."""
    tree: dict[str, object] = {}
    for name, value in values.items():
        *path, key = name.split(".")
        branch = tree
        for part in path:
            branch = cast("dict[str, object]", branch.setdefault(part, {}))
        branch[key] = value
    return "\n".join(_lines({node: {PARAMETERS_KEY: tree}}, "")) + "\n"


def _lines(tree: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{_key(key)}:"
            yield from _lines(value, f"{indent}  ")
        else:
            yield f"{indent}{_key(key)}: {_text(value)}"


def _key(text: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_/][\w/-]*", text, re.ASCII) and text not in BOOLS
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    """Return a double-quoted scalar: what is not printable is escaped."""
    characters = (
        f"\\{one}" if one in {'"', "\\"} else one if one.isprintable() else f"\\U{ord(one):08X}" for one in text
    )
    return f'"{"".join(characters)}"'


def _text(value: object) -> str:
    """Return a value as ROS writes it."""
    if isinstance(value, tuple):
        return f"[{', '.join(_text(item) for item in value)}]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        text = repr(value)
        if text.lstrip("-") in {"nan", "inf"}:
            return text.replace("nan", ".nan").replace("inf", ".inf")
        return text if "." in text else text.replace("e", ".0e")
    return str(value).lower()
