"""`armbroker diff`: two of arms, revisions, files and recipes."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import typer

from armbroker.cli.exits import Exit
from armbroker.cli.export_work import recipe
from armbroker.cli.lines import compact
from armbroker.cli.login import Account
from armbroker.cli.outcome import ended
from armbroker.client import ArmClient
from armbroker.files.config_file import NAME, SUFFIXES, ConfigFile, read_file
from handlers.compare.comparison import Side, compare, comparison_document

RECIPE_PREFIX = "recipe:"
PAGE = 500
_VERSION = re.compile(r"[1-9][0-9]{0,15}\Z")
Result = dict[str, Any]


class Operand(NamedTuple):
    """One side: a file, an arm, an arm after a revision, a group, or a recipe; `number` 0: now, or the newest."""

    kind: str
    name: str
    number: int = 0
    file: ConfigFile | None = None

    @property
    def is_arm(self) -> bool:
        """Whether it is an arm, now or then."""
        return self.kind == "arm"

    def source(self, addressed: str) -> dict[str, Any]:
        """The source that it is in a Diff to an arm or group."""
        if self.file is not None:
            return {"items": self.file.items}
        if self.kind == "recipe":
            return {"recipe": self.name} | ({"version": self.number} if self.number else {})
        own: dict[str, Any] = {} if self.name in ("", addressed) else {"arm": self.name}
        return own | ({"rev": self.number} if self.number else {})


def run(account: Account, a: str, b: str, within_s: float, *, as_json: bool) -> Exit:
    """Compare and tell; REFUSED where they differ."""
    return ended(lambda: asyncio.run(_diff(account, operand(a), operand(b), within_s, as_json=as_json)))


def operand(text: str) -> Operand:
    """What an argument stands for.

    Raises:
        ValueError: nothing.
        FaultyFileError, OSError: a file that cannot be used.
    """
    if text.startswith(RECIPE_PREFIX):
        return _numbered("recipe", text.removeprefix(RECIPE_PREFIX), text, "recipe:NAME@VERSION")
    if text.startswith("@"):
        return _named("group", text.removeprefix("@"), text)
    if text.endswith(SUFFIXES) or "/" in text:
        file = read_file(Path(text))
        return Operand("file", text, file=file)
    return _numbered("arm", text, text, "ARM@REV")


def _numbered(kind: str, text: str, whole: str, form: str) -> Operand:
    name, at, number = text.partition("@")
    if at and not _VERSION.match(number):
        raise ValueError(f"{whole!r}: {number[:60]!r} is no number, {form} is wanted")
    return _named(kind, name, whole)._replace(number=int(number or 0))


def _named(kind: str, name: str, whole: str) -> Operand:
    if not NAME.match(name):
        raise ValueError(
            f"{whole[:80]!r}: a file (.toml, .json), ARM, ARM@REV, recipe:NAME[@VERSION] or @GROUP is wanted"
        )
    return Operand(kind, name)


async def _diff(account: Account, a: Operand, b: Operand, within_s: float, *, as_json: bool) -> Exit:
    if a.kind == "group":
        raise ValueError("diff: a group stands second, each of its arms is compared with the first")
    if a.file is not None and b.file is not None:
        return _tell(_compared(a.file, b.file), as_json=as_json)
    async with account.client() as client:
        if b.kind == "group":
            return await _with_group(client, a, b, within_s, as_json=as_json)
        if not a.is_arm and not b.is_arm:
            sides = [await _fetched(client, one, within_s) for one in (a, b)]
            return _tell(_compared(*sides), as_json=as_json)
        arm = a.name if a.is_arm else b.name
        params = {"from": a.source(arm), "to": b.source(arm)}
        reply = await client.call(arm, "Diff", params, timeout=within_s)
        return _tell(reply.get("result", {}), as_json=as_json)


async def _fetched(client: ArmClient, one: Operand, within_s: float) -> ConfigFile:
    return one.file or await recipe(client, one.name, one.number or None, within_s)


def _compared(a: ConfigFile, b: ConfigFile) -> Result:
    """What two files or recipes say differently, with all their digits."""
    return comparison_document(compare(Side(a.values, partial=True), Side(b.values, partial=True), None, 0.0))


def _tell(result: Result, *, as_json: bool) -> Exit:
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
    else:
        for line in difference_lines(result):
            typer.echo(line)
    return Exit.OK if result["same"] else Exit.REFUSED


def difference_lines(result: Result) -> list[str]:
    """What a person reads of a comparison."""
    if result["same"]:
        return ["the same"]
    lines = [
        f"{one['path']}: {compact(one['from'])} -> {compact(one['to'])} ({one['direction']})"
        for one in result["differences"]
    ]
    lines += [f"{path}: only in the first" for path in result["only_from"]]
    return [*lines, *(f"{path}: only in the second" for path in result["only_to"])]


async def _with_group(client: ArmClient, a: Operand, b: Operand, within_s: float, *, as_json: bool) -> Exit:
    """Compare each arm of a group with the first one, page by page."""
    counts: dict[str, int] = {}
    params: dict[str, Any] = {"from": a.source(""), "to": {"view": "reported"}, "limit": PAGE}
    more = True
    while more:
        reply = await client.call(f"@{b.name}", "Diff", params, timeout=within_s)
        result = reply.get("result", {})
        if as_json:
            typer.echo(json.dumps(result, ensure_ascii=False))
        else:
            for row in result["rows"]:
                typer.echo(row_line(row))
        counts = result["counts"]
        more = result["more"] and bool(result["rows"])
        params["after"] = result["rows"][-1]["arm"] if more else ""
    return Exit.REFUSED if counts.get("differ") or counts.get("failed") else Exit.OK


def row_line(row: Result) -> str:
    """What a person reads of one arm of a group."""
    if "kind" in row:
        return f"{row['arm']}: {row['kind']}: {row['message']}"
    if row["same"]:
        return f"{row['arm']}: the same"
    left = row["count"] - len(row["paths"])
    return f"{row['arm']}: {', '.join(row['paths'])}{f' and {left} more' if left else ''}"
