"""YAML text as a tree of plain scalars, read event by event: no object is ever constructed from it.

A tree of `yaml.compose` would not do: it no longer tells a tag that was written from one that was guessed, nor the line
of an alias, and it is as deep as the text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import yaml

from limits.errors import LimitsError

MAX_CHARACTERS = 4_000_000
"""Longest text that is read."""
MAX_DEPTH = 32
"""Deepest nesting that is read."""
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where it is there, which ROS uses too."""
STRING_TAG = "tag:yaml.org,2002:str"
"""The one tag of YAML that is understood."""
ANGLE_TAGS = frozenset({"!degrees", "!radians"})
"""Tags of xacro and rosparam: the scalar is an angle in that unit."""


class ScalarNode(NamedTuple):
    """A scalar as it is written; `quoted` = it is a string, whatever it looks like; `unit` is one of ANGLE_TAGS."""

    text: str
    quoted: bool
    line: int
    unit: str = ""


class SequenceNode(NamedTuple):
    """A list of scalars."""

    items: list[ScalarNode]
    line: int


class MappingNode(NamedTuple):
    """Keys and values in their order; a key may be there twice."""

    pairs: list[tuple[ScalarNode, "Node"]]
    line: int


Node = ScalarNode | SequenceNode | MappingNode


def parse_yaml(text: str, file: str | None = None) -> Node:
    """Parse one YAML document.

    Raises:
        LimitsError: malformed, too long, too deep, empty, more than one document, an alias, or a tag other than `!!str`
            and those of angles (tags can ask for objects to be built or code to be run).
    """
    if len(text) > MAX_CHARACTERS:
        raise LimitsError(
            "the document is too long", file=file, key="characters", value=len(text), bound=MAX_CHARACTERS
        )
    try:
        events = [
            event
            for event in yaml.parse(text, Loader=LOADER)
            if not isinstance(event, (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentEndEvent))
        ]
    except yaml.YAMLError as error:
        raise LimitsError(f"not well-formed YAML: {error}", file=file) from error
    documents = sum(isinstance(event, yaml.DocumentStartEvent) for event in events)
    if documents != 1:
        raise LimitsError("must hold one document", file=file, key="documents", value=documents, bound=1)
    return _Reader(iter(events[1:]), file).node(0)


@dataclass(slots=True)
class _Reader:
    """Builds the tree from the events of one document."""

    events: Iterator[yaml.Event]
    file: str | None

    def node(self, depth: int) -> Node:
        """Read the next node."""
        return self._node_of(next(self.events), depth)

    def _node_of(self, event: yaml.Event, depth: int) -> Node:
        line = event.start_mark.line + 1 if event.start_mark else 0
        if depth > MAX_DEPTH:
            raise self._error("is nested too deeply", line, depth, MAX_DEPTH)
        match event:
            case yaml.ScalarEvent():
                return self._scalar(event, line)
            case yaml.AliasEvent():
                raise self._error("an alias is not read", line, event.anchor)
            case yaml.CollectionStartEvent(tag=str(tag)):
                raise self._error("this tag is not read", line, tag)
            case yaml.SequenceStartEvent():
                return SequenceNode(self._items(depth), line)
            case _:
                return MappingNode(self._pairs(depth), line)

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> ScalarNode:
        if event.tag in ANGLE_TAGS:
            return ScalarNode(event.value, quoted=False, line=line, unit=event.tag)
        if event.tag not in {None, STRING_TAG}:
            raise self._error("this tag is not read", line, event.tag)
        return ScalarNode(event.value, quoted=event.tag == STRING_TAG or event.style in {"'", '"'}, line=line)

    def _items(self, depth: int) -> list[ScalarNode]:
        items = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            item = self._node_of(event, depth + 1)
            if not isinstance(item, ScalarNode):
                raise self._error("a list holds scalars only", item.line)
            items.append(item)
        return items

    def _pairs(self, depth: int) -> list[tuple[ScalarNode, Node]]:
        pairs = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._node_of(event, depth + 1)
            if not isinstance(key, ScalarNode) or not key.text or key.unit:
                raise self._error("a key is a word", key.line)
            pairs.append((key, self.node(depth + 1)))
        return pairs

    def _error(self, reason: str, line: int, value: object = None, bound: object = None) -> LimitsError:
        return LimitsError(reason, file=self.file, key=f"line {line}", value=value, bound=bound)
