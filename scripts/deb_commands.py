"""The table of commands, as pages and completions need it."""

import enum
import re
from argparse import SUPPRESS, Action
from collections.abc import Iterator
from typing import Any, NamedTuple

from typer.main import get_command

from armbroker.cli.commands import app
from armbroker.cli.run import make_parser

FILES = frozenset({"FILE", "DIR", "WHEEL", "TARGET", "FILE..."})
"""What stands for a path."""


class Option(NamedTuple):
    """One option: its names, what stands for its value (empty: it is a flag), and what it does."""

    names: tuple[str, ...]
    value: str
    text: str
    choices: tuple[str, ...] = ()


class Entry(NamedTuple):
    """One command: the words that call it, its arguments, what it does, its options, the commands below it."""

    path: tuple[str, ...]
    arguments: tuple[str, ...]
    short: str
    text: str
    options: tuple[Option, ...]
    below: tuple[str, ...]


def commands() -> list[Entry]:
    """Every command, the whole first."""
    return list(_walk(get_command(app), ()))


def _walk(command: Any, path: tuple[str, ...]) -> Iterator[Entry]:
    below: dict[str, Any] = getattr(command, "commands", {})
    if path == ("run",):
        yield _run_entry()
        return
    options = tuple(_option(one) for one in command.params if one.param_type_name == "option" and not one.hidden)
    arguments = tuple(
        name if one.required else f"[{name}]"
        for one in command.params
        if one.param_type_name == "argument"
        for name in [one.metavar or one.name.upper()]
    )
    short = (command.short_help or "").partition(": armbroker")[0]
    yield Entry(path, arguments, short, command.help or "", options, tuple(below))
    for name, one in below.items():
        yield from _walk(one, (*path, name))


def _option(one: Any) -> Option:
    kind = one.type_descriptor.annotation
    is_choice = isinstance(kind, type) and issubclass(kind, enum.Enum)
    choices = tuple(str(member.value) for member in kind) if is_choice else ()
    value = "" if one.is_flag else one.metavar or "|".join(choices) or one.name.upper()
    return Option((*one.opts, *one.secondary_opts), value, one.help or "", choices)


def _run_entry() -> Entry:
    parser = make_parser()
    options = tuple(_run_option(one) for one in parser._actions if one.help != SUPPRESS)  # noqa: SLF001 - no other way
    text = f"{parser.description}\n\n{parser.epilog}"
    return Entry(("run",), (), "Run the service", text, options, ())


def _run_option(one: Action) -> Option:
    flag = one.nargs == 0
    choices = tuple(map(str, one.choices or ()))
    value = "" if flag else str(one.metavar or "|".join(choices) or one.dest.upper())
    return Option(tuple(one.option_strings), value, one.help or "", choices)


def examples_of(text: str) -> tuple[str, str]:
    """A help text in two: what it says, and its block of examples, empty where it has none; without marks of click."""
    said, _, examples = text.partition("examples:\n")
    rest = examples.partition("\n\n")
    said = re.sub(r"[\b]\n?|\\b", "", f"{said}\n{rest[2]}").strip()
    return re.sub(r"[ \t]+\n", "\n", said), rest[0]
