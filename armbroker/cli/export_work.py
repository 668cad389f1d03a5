"""`armbroker export`: arms and recipes into files."""

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import typer

from armbroker.cli import seen
from armbroker.cli.exits import Exit
from armbroker.cli.login import Account
from armbroker.cli.outcome import ended
from armbroker.client import ArmClient, ClientError
from armbroker.files.config_file import ARM, RECIPE, ConfigFile, FaultyFileError, read_file, text_of
from schema.codecs.items_form import read_items

FLEET = "@all"


class Wanted(NamedTuple):
    """What is exported: arms, a group, or `recipes`; `form` is `toml` or `json`, `timeout` in seconds."""

    names: tuple[str, ...]
    recipes: bool
    out: Path
    form: str
    timeout: float


def run(account: Account, wanted: Wanted) -> Exit:
    """Fetch all of it, then write."""
    return ended(lambda: asyncio.run(_export(account, wanted)))


async def _export(account: Account, wanted: Wanted) -> Exit:
    groups = [name for name in wanted.names if name.startswith("@")]
    if bool(wanted.names) is wanted.recipes or (groups and len(wanted.names) > 1):
        raise ValueError("export: ARM..., one @GROUP or --recipes is wanted")
    async with account.client() as client:
        if wanted.recipes:
            files = await _recipes(client, wanted.timeout)
        else:
            arms = await seen.models(client, groups[0], wanted.timeout) if groups else dict.fromkeys(wanted.names)
            files = [await _arm(client, arm, wanted.timeout) for arm in arms]
    _write(files, wanted)
    return Exit.OK


async def _arm(client: ArmClient, arm: str, within_s: float) -> ConfigFile:
    found = await seen.documents(client, arm, ("config", "presence"), within_s)
    config = found["config"]
    if config.get("left_out"):
        raise ClientError(f"{arm}: its document is too large for the MQTT server: {config['left_out']} is left out")
    items = {key: value for key, value in config["items"].items() if value}
    params = {"from": {"view": "ground"}, "to": {"items": items}}
    reply = await client.call(arm, "Diff", params, timeout=within_s)
    values = read_items(with_ground(items, reply.get("result", {})))
    model = found["presence"].get("model")
    return ConfigFile(ARM, arm, (model,) if model else (), "", values)


def with_ground(items: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """The items of a document as they are below all overrides: a document may also be a moment behind."""
    found = {key: dict(value) for key, value in items.items()}
    for one in result["differences"]:
        key, _, mode = one["path"].partition("/")
        if mode:
            found[key][mode] = one["from"]
        else:
            found[key] = one["from"]
    return found


async def _recipes(client: ArmClient, within_s: float) -> list[ConfigFile]:
    listed = seen.pages(client, FLEET, "ListRecipes", {}, "recipes", "name", within_s)
    return [await recipe(client, entry["name"], None, within_s) async for entry in listed]


async def recipe(client: ArmClient, name: str, version: int | None, within_s: float) -> ConfigFile:
    """A recipe of the service; without a version the newest.

    Raises:
        RefusedError: there is none.
    """
    params: dict[str, Any] = {"name": name} | ({} if version is None else {"version": version})
    result = (await client.call(FLEET, "GetRecipe", params, timeout=within_s)).get("result", {})
    values = read_items(result["items"])
    return ConfigFile(RECIPE, name, tuple(result.get("models", ())), result.get("note", ""), values)


def _write(files: list[ConfigFile], wanted: Wanted) -> None:
    """Write what is new; before the first file it is sure that nothing of something else is written over."""
    places = {wanted.out / f"{file.name}.{wanted.form}": file for file in files}
    for path, file in places.items():
        if path.exists():
            _check_same(path, file)
    wanted.out.mkdir(parents=True, exist_ok=True)
    for path, file in places.items():
        data = text_of(file, wanted.form).encode()
        as_before = path.exists() and path.read_bytes() == data
        if not as_before:
            part = path.with_name(f".{path.name}.part")
            part.write_bytes(data)
            part.replace(path)
        typer.echo(f"{path}{' (as before)' if as_before else ''}")


def _check_same(path: Path, file: ConfigFile) -> None:
    try:
        there = read_file(path)
    except FaultyFileError as error:
        raise ValueError(f"{path} is there and is no such file, it is not written over:\n{error}") from None
    if (there.kind, there.name) != (file.kind, file.name):
        text = f"{path} is there and is of {there.kind} {there.name}, not of {file.kind} {file.name}"
        raise ValueError(f"{text}: it is not written over")
