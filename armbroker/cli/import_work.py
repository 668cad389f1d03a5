"""`armbroker import`: what files say, to the service."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import typer

from armbroker.cli import seen
from armbroker.cli.exits import Exit
from armbroker.cli.export_work import FLEET
from armbroker.cli.lines import compact, error_lines, reply_line, warning_lines
from armbroker.cli.login import Account
from armbroker.cli.outcome import ended
from armbroker.client import ArmClient, ClientError, NotDoneError, ReplyDocument, RequestOptions
from armbroker.files.config_file import RECIPE, ConfigFile, FaultyFileError, read_file


class Sent(NamedTuple):
    """How files are sent: `to` an arm or group, else as recipes; `timeout` in seconds."""

    to: str
    dry_run: bool
    reason: str | None
    timeout: float


def run(account: Account, paths: tuple[Path, ...], sent: Sent, *, as_json: bool) -> Exit:
    """Read all files, then send one after the other, as long as none is refused."""
    return ended(lambda: asyncio.run(_import(account, read_all(paths), sent, as_json=as_json)))


def read_all(paths: Iterable[Path]) -> list[ConfigFile]:
    """What files say.

    Raises:
        FaultyFileError: with all that is wrong in any of them.
        OSError: one cannot be read.
    """
    files: list[ConfigFile] = []
    faults: list[str] = []
    for path in paths:
        try:
            files.append(read_file(path))
        except FaultyFileError as error:
            faults.append(str(error))
    if faults:
        raise FaultyFileError("\n".join(faults))
    return files


async def _import(account: Account, files: list[ConfigFile], sent: Sent, *, as_json: bool) -> Exit:
    arms = [file.name for file in files if file.kind != RECIPE]
    if arms and not sent.to:
        raise ValueError(f"import: {arms[0]} is an arm's file, --to says who gets its values")
    async with account.client() as client:
        if sent.to:
            await _check_models(client, files, sent)
        for number, file in enumerate(files, 1):
            try:
                reply = await _send(client, file, sent)
            except NotDoneError as error:
                reply = error.reply
            for line in [json.dumps(reply, ensure_ascii=False)] if as_json else _lines(file, reply):
                typer.echo(line)
            if not reply["ok"]:
                if left := len(files) - number:
                    typer.echo(f"armbroker: {left} more of the files were not sent", err=True)
                return Exit.REFUSED
    return Exit.OK


async def _check_models(client: ArmClient, files: list[ConfigFile], sent: Sent) -> None:
    """Refuse what is for other models than those of the arms.

    Raises:
        ClientError: it is, or an arm is not known.
    """
    wanted = [file for file in files if file.models]
    found = await seen.models(client, sent.to, sent.timeout) if wanted else {}
    for file in wanted:
        for arm, model in found.items():
            if model not in file.models:
                models = ", ".join(file.models)
                raise ClientError(f"{file.name} is for {models}, {arm} is {model or 'not known'}; nothing was sent")


async def _send(client: ArmClient, file: ConfigFile, sent: Sent) -> ReplyDocument:
    options: RequestOptions = {"dry_run": sent.dry_run or None, "reason": sent.reason}
    if sent.to:
        return await client.call(sent.to, "ApplyConfig", {"items": file.items}, timeout=sent.timeout, **options)
    params: dict[str, Any] = {"name": file.name, "items": file.items, "models": [*file.models], "note": file.note}
    return await client.call(FLEET, "PutRecipe", params, timeout=sent.timeout, **options)


def _lines(file: ConfigFile, reply: ReplyDocument) -> list[str]:
    """What a person reads of a reply."""
    result = reply.get("result", {})
    if reply["ok"] and "version" in result:
        same = " (as before)" if result.get("unchanged") else ""
        return [f"{file.name}: version {result['version']}{same}", *warning_lines(reply)]
    items = result.get("items", {})
    outcomes = [f"  {path} {one if isinstance(one, str) else compact(one)}" for path, one in items.items()]
    rows = [f"  {row['arm']} {row['state']} {row.get('message', '')}".rstrip() for row in result.get("rows", ())]
    errors = [] if reply["ok"] else error_lines(reply)
    return [f"{file.name}: {reply_line(reply)}", *outcomes, *rows, *errors, *warning_lines(reply)]
