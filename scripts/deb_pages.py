"""Write the man pages and completions of the Debian package from the tables of commands and settings.

`python -m scripts.deb_pages FOLDER VERSION`, from the root of the repository; `scripts/build-deb` does it.
"""

import ast
import inspect
import itertools
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec

from armbroker.cli.exits import Exit
from broker.settings import records
from broker.settings.environment import TOOLS, VARIABLES
from scripts.deb_commands import Entry, Option, commands, examples_of
from scripts.deb_completions import bash, zsh

ROOT = Path(__file__).resolve().parent.parent
KINDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def roff(text: str) -> str:
    """A text for roff: no character of it is a request, and dashes are those that people copy."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def paragraphs(text: str) -> Iterator[str]:
    """A text of paragraphs, filled by roff."""
    for block in text.split("\n\n"):
        if block.strip():
            yield ".PP"
            yield roff("\n".join(line.strip() for line in block.strip().splitlines()))


def verbatim(text: str) -> Iterator[str]:
    """A text as it stands."""
    yield from (".PP", ".nf", ".RS 4", roff(inspect.cleandoc(text)), ".RE", ".fi")


def head(title: str, section: int, version: str) -> str:
    """The first lines of a page; names are not broken."""
    return f'.TH {title} {section} "" "armbroker {version}" "armbroker"\n.nh\n.ad l'


def command_page(version: str) -> str:
    """armbroker(1)."""
    whole, *entries = commands()
    said, _ = examples_of(whole.text)
    lines = [head("ARMBROKER", 1, version), ".SH NAME", roff(f"armbroker - {said.splitlines()[0]}".rstrip("."))]
    lines += [".SH SYNOPSIS", ".B armbroker", ".I COMMAND", "[options] [arguments]", ".SH DESCRIPTION"]
    lines += paragraphs(said)
    lines += [".SH OPTIONS", *(line for option in whole.options for line in option_lines(option)), ".SH COMMANDS"]
    for entry in entries:
        lines += entry_lines(entry)
    lines.append(".SH EXIT STATUS")
    for code, why in exit_codes():
        lines += [".TP", f".B {code}", roff(why)]
    lines.append(".SH ENVIRONMENT")
    for name, why in TOOLS.items():
        lines += [".TP", f".B {name}", roff(why)]
    lines += [".TP", ".B ARMBROKER_*", roff("override settings: see fleet.toml(5).")]
    lines += [".SH FILES", ".TP", ".I /etc/armbroker/fleet.toml", "settings of the service"]
    lines += [".TP", ".I /var/lib/armbroker", "its store", ".TP", ".I /usr/share/armbroker"]
    lines += ["configuration of Mosquitto, and what ROS 2 arms need of the unit"]
    lines += [".SH SEE ALSO", ".BR fleet.toml (5),", ".BR mosquitto (8),", ".I /usr/share/doc/armbroker/README.md"]
    return "\n".join(lines) + "\n"


def entry_lines(entry: Entry) -> Iterator[str]:
    """The section of one command."""
    called = " ".join(("armbroker", *entry.path, *entry.arguments))
    yield f'.SS "{roff(called)}"'
    said, examples = examples_of(entry.text)
    yield from paragraphs(said)
    for option in entry.options:
        yield from option_lines(option)
    if examples:
        yield from verbatim(examples)


def option_lines(option: Option) -> Iterator[str]:
    """One option, in a list of such."""
    value = f" \\fI{roff(option.value)}\\fR" if option.value else ""
    yield ".TP"
    yield f"\\fB{roff(', '.join(option.names))}\\fR{value}"
    yield roff(option.text or "as the command says")


def exit_codes() -> Iterator[tuple[int, str]]:
    """Each exit code and what it means."""
    texts = attribute_texts(Exit)
    for code in Exit:
        yield code.value, texts.get(code.name, "As it should.")


def attribute_texts(kind: type) -> dict[str, str]:
    """The text below each attribute of a class."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    found = {}
    for before, after in itertools.pairwise(body):
        if not isinstance(before, ast.AnnAssign | ast.Assign) or not isinstance(after, ast.Expr):
            continue
        name = before.target if isinstance(before, ast.AnnAssign) else before.targets[0]
        if isinstance(name, ast.Name) and isinstance(after.value, ast.Constant):
            found[name.id] = " ".join(str(after.value.value).split())
    return found


def settings_page(version: str) -> str:
    """fleet.toml(5)."""
    said = "The file that armbroker run --config reads, in TOML. Everything has a default; what is unknown is refused."
    lines = [head("FLEET.TOML", 5, version), ".SH NAME", roff("fleet.toml - settings of armbroker")]
    lines += [".SH SYNOPSIS", ".I /etc/armbroker/fleet.toml", ".SH DESCRIPTION"]
    told = "armbroker run --check --config FILE tells all that is wrong, each with its line, and touches nothing."
    lines += paragraphs(f"{said}\n\n{told}\n\nsystemctl reload armbroker reads it again.")
    lines += [".SH SETTINGS", *table_lines("", records.Settings)]
    lines += [".SH ENVIRONMENT", *paragraphs("A variable of the environment comes before the file:")]
    lines += [".PP", roff(", ".join(sorted(VARIABLES))) + "."]
    lines += [".SH EXAMPLE", *verbatim((ROOT / "deploy" / "fleet.toml").read_text())]
    lines += [".SH SEE ALSO", ".BR armbroker (1),", ".I /usr/share/doc/armbroker/README.md"]
    return "\n".join(lines) + "\n"


def table_lines(title: str, kind: type[msgspec.Struct]) -> Iterator[str]:
    """A table of settings, and those below it."""
    if title:
        yield f'.SS "{roff(title)}"'
    yield from paragraphs(inspect.cleandoc(kind.__doc__ or ""))
    texts, shipped, below = attribute_texts(kind), shipped_comments(), []
    for field in msgspec.structs.fields(kind):
        found = record_of(field.type)
        if found is not None:
            below.append((heading(title, field.name, field.type), found))
            continue
        default = "required" if field.default is msgspec.NODEFAULT else f"default {toml_of(field.default)}"
        if field.default_factory is not msgspec.NODEFAULT:
            default = "default empty"
        yield ".TP"
        yield f"\\fB{roff(field.name)}\\fR ({roff(kind_of(field.type))}, {roff(default)})"
        yield roff(texts.get(field.name) or shipped.get((title, field.name), "See above."))
    for name, found in below:
        yield from table_lines(name, found)


def shipped_comments() -> dict[tuple[str, str], str]:
    """What the shipped file says behind a setting, by its table and name."""
    found, table = {}, ""
    for line in (ROOT / "deploy" / "fleet.toml").read_text().splitlines():
        if line.startswith("["):
            table = line.partition(" #")[0].strip()
        elif match := re.match(r"(\w+) *=[^#]*# *(?:\(start\) )?(.+)", line):
            found[table, match[1]] = f"{match[2][0].upper()}{match[2][1:]}."
    return found


def heading(above: str, name: str, kind: object) -> str:
    """How TOML names a table."""
    inside = above.strip("[]")
    path = f"{inside}.{name}" if inside else name
    origin = typing.get_origin(kind)
    if origin is tuple:
        return f"[[{path}]]"
    return f"[{path}.NAME]" if origin is dict else f"[{path}]"


def record_of(kind: object) -> type[msgspec.Struct] | None:
    """The record that a table, a list or a table of tables is made of; None for a plain value."""
    for one in (kind, *typing.get_args(kind)):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            return one
    return None


def kind_of(kind: object) -> str:
    """A type in words."""
    if isinstance(kind, type) and kind in KINDS:
        return KINDS[kind]
    parts = [one for one in typing.get_args(kind) if one not in (types.NoneType, Ellipsis)]
    origin = typing.get_origin(kind)
    if origin is dict:
        return f"table of {kind_of(parts[1])}"
    if origin in (tuple, list):
        return f"list of {kind_of(parts[0])}"
    return " or ".join(dict.fromkeys(kind_of(one) for one in parts))


def toml_of(value: object) -> str:
    """A default as TOML has it."""
    if value is None:
        return "absent"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def write(folder: Path, version: str) -> None:
    """Write all below the root of the package."""
    entries = commands()
    for place, text in {
        "usr/share/man/man1/armbroker.1": command_page(version),
        "usr/share/man/man5/fleet.toml.5": settings_page(version),
        "usr/share/bash-completion/completions/armbroker": bash(entries),
        "usr/share/zsh/vendor-completions/_armbroker": zsh(entries),
    }.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
