"""A document of tables as TOML or JSON text: keys sorted, shortest numbers, the same document the same bytes."""

import json
import re
from collections.abc import Iterator
from typing import Any

from schema.codecs.canonical import shortest

Document = dict[str, Any]
EXACT = 2**53
"""From here on a number is written as a fraction: not every reader takes all whole ones."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(document: Document) -> str:
    """The document as TOML; its values are tables, lists of plain values, texts, numbers and flags."""
    return "\n".join(_table(document, ())).lstrip("\n") + "\n"


def _table(table: Document, path: tuple[str, ...]) -> Iterator[str]:
    """The lines of a table: its own keys, then the tables within."""
    plain = {key: value for key, value in sorted(table.items()) if not isinstance(value, dict)}
    within = {key: value for key, value in sorted(table.items()) if isinstance(value, dict)}
    if path and (plain or not within):
        yield f"\n[{'.'.join(map(_key, path))}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {_toml(value)}"
    for key, value in within.items():
        yield from _table(value, (*path, key))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    return shortest(value) if abs(value) < EXACT else repr(float(value))


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def json_text(document: Document) -> str:
    """The document as JSON, a key a line, lists of plain values in one."""
    return _json(document, "") + "\n"


def _json(value: Any, indent: str) -> str:
    if isinstance(value, dict):
        if not value:
            return "{}"
        deeper = indent + "  "
        lines = [f"{deeper}{_string(key)}: {_json(one, deeper)}" for key, one in sorted(value.items())]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list):
        return f"[{', '.join(_json(one, indent) for one in value)}]"
    return _scalar(value)
