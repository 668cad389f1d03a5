"""Write `docs/settings.md` from the records of the settings and the table of what they mean.

`python -m scripts.generate_settings FOLDER`, from the root of the repository; `scripts/generate` does it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

import msgspec

from broker.reload import AT_START
from broker.settings import Settings
from broker.settings.environment import PROCESS, TOOLS, VARIABLES
from scripts.generate_docs import NOTE, code, table
from scripts.settings_table import SETTINGS

PAGE = Path("docs/settings.md")
INTRO = """`armbroker run --config fleet.toml` reads these. `armbroker run --check --config fleet.toml` tells all that
is wrong, each with file and line, and touches nothing. A key that is none of these is refused, and so is a value of
another type. Durations are texts such as `500ms`, `30s`, `15min`, `12h`, `7d`.

A variable of the environment counts before the file; what is no text is written as in TOML: `true`, `7`, `["a"]`. One
that begins with `ARMBROKER_` and is none of these is told in the log (`settings_doubtful`).
"""
TYPES = {str: "text", int: "whole number", float: "number", bool: "`true`, `false`"}
ABOUT = {
    "": "At the top",
    "clients.<user>": '`[clients.<user>]`, or `[clients."*"]` for users without an entry',
    "arm": "`[[arm]]`, one for each arm",
    "arm.checks": "`[arm.checks]`",
}
"""What the section of a table is called, where its name does not do."""


class Leaf(NamedTuple):
    """One setting: its key in the table of meanings, its type, and its default as TOML, empty for none."""

    key: str
    kind: Any
    default: str

    @property
    def table(self) -> str:
        """The table that it stands in."""
        return self.key.rpartition(".")[0]

    @property
    def variable(self) -> str:
        """The variable of the environment that gives it; empty for none."""
        path = tuple(self.key.split("."))
        return next((name for name, (found, _) in VARIABLES.items() if found == path), "")


def leaves(record: type[msgspec.Struct] = Settings, prefix: str = "") -> Iterator[Leaf]:
    """Every setting, in the order of the records."""
    for field in msgspec.structs.fields(record):
        key, kind = f"{prefix}{field.name}", field.type
        arguments = get_args(kind)
        within = arguments[-1] if get_origin(kind) is dict else arguments[0] if arguments else kind
        if isinstance(within, type) and issubclass(within, msgspec.Struct):
            yield from leaves(within, f"{key}.<user>." if get_origin(kind) is dict else f"{key}.")
        else:
            yield Leaf(key, kind, _default(field))


def type_of(kind: Any) -> str:
    """A type in words."""
    if type(None) in get_args(kind):
        return type_of(next(each for each in get_args(kind) if each is not type(None)))
    if get_origin(kind) is tuple:
        return "list of texts"
    return "table" if get_origin(kind) is dict else TYPES[kind]


def _default(field: Any) -> str:
    if field.required:
        return "*needed*"
    value = field.default
    if value in (None, ""):
        return ""
    if value is msgspec.NODEFAULT or isinstance(value, (tuple, dict)):
        return ""
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value:g}"
    return code(text)


def page() -> str:
    """The page."""
    found = list(leaves())
    if {leaf.key for leaf in found} != SETTINGS.keys():
        differing = sorted({leaf.key for leaf in found} ^ SETTINGS.keys())
        raise SystemExit(f"scripts/settings_table.py has to have exactly the settings; differing: {differing}")
    parts = ["# All settings\n", f"{NOTE}\n", INTRO]
    for name in dict.fromkeys(("", *(leaf.table for leaf in found))):
        when = "counts from the next start on" if name in AT_START else "a reload counts at once"
        parts.append(f"## {ABOUT.get(name, f'`[{name}]`')}\n")
        if name:
            parts.append(f"{when[0].upper()}{when[1:]}.\n")
        rows = [_row(leaf) for leaf in found if leaf.table == name]
        parts.append(table(("key", "type", "default", "allowed", "meaning", "variable"), rows))
    parts += [
        "## Variables for the process of the service\n",
        "Read before the settings are ([performance.md](performance.md)).\n",
    ]
    parts.append(table(("variable", "meaning"), [(code(name), what) for name, what in PROCESS.items()]))
    parts += ["## Variables for people's tools alone\n", "The service passes over them ([tools.md](tools.md)).\n"]
    parts.append(table(("variable", "meaning"), [(code(name), what) for name, what in TOOLS.items()]))
    return "\n".join(parts)


def _row(leaf: Leaf) -> tuple[str, ...]:
    meaning = SETTINGS[leaf.key]
    start = "; counts from the next start on" if leaf.key in AT_START else ""
    name = code(leaf.key.rpartition(".")[2])
    return (name, type_of(leaf.kind), leaf.default, meaning.allowed, f"{meaning.what}{start}", code(leaf.variable))


def main() -> None:
    """Write the page below the folder of the command line."""
    out = Path(sys.argv[1])
    (out / PAGE).parent.mkdir(parents=True, exist_ok=True)
    (out / PAGE).write_text(page())


if __name__ == "__main__":
    main()
