"""What the commands `armbroker devices` do; loaded when one of them runs."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import typer

from armbroker.cli.exits import Exit
from armbroker.conformance import service_behaviours
from broker.logs import set_up
from devices.adapter import AdapterSettingError, ArmError, Setting
from devices.adapter_class import AdapterAbout, AdapterOptions
from devices.conformance import BEHAVIOURS, Rig, Verdict, run_all
from devices.conformance.benches import rig_maker
from devices.kortex.install import install
from devices.kortex.options import ENVIRONMENT
from devices.options import option_rows
from devices.registry import adapter_class, registered

SUITE = {**BEHAVIOURS, **service_behaviours()}
"""All behaviours by name."""


def list_adapters(*, as_json: bool) -> int:
    """Show all adapters."""
    rows = [_listed(name, origin) for name, origin in registered()]
    if as_json:
        _json(rows)
        return Exit.OK
    width = max(len(row["name"]) for row in rows)
    origins = max(len(row["from"]) for row in rows)
    for row in rows:
        text = row["purpose"] if row["usable"] else f"cannot be used: {row['why']}"
        typer.echo(f"{row['name']:{width}}  {row['from']:{origins}}  {text}")
    return Exit.OK


def _listed(name: str, origin: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "from": origin, "usable": True}
    try:
        return row | {"purpose": adapter_class(name).about.purpose}
    except ArmError as error:
        return row | {"usable": False, "why": str(error)}


def show(name: str, *, as_json: bool) -> int:
    """Show what an adapter is.

    Raises:
        ArmError: there is none of this name, or it cannot be imported.
    """
    about = adapter_class(name).about
    document = _document(name, about)
    if as_json:
        _json(document)
        return Exit.OK
    for key in ("adapter", "purpose", "from", "models", "items", "methods"):
        value, nothing = document[key], "any" if key == "models" else "none beyond those of the service"
        typer.echo(f"{key}: {', '.join(value) or nothing}" if isinstance(value, list) else f"{key}: {value}")
    deadlines = ", ".join(f"{key.removesuffix('_s')} {value:g} s" for key, value in document["deadlines"].items())
    typer.echo(f"deadlines: {deadlines}")
    typer.echo(
        f"resolution: {about.resolution_rad:g} rad" if about.resolution_rad else "resolution: numbers as they are"
    )
    typer.echo(f"authority: {about.authority}, unless the settings say")
    typer.echo(f"test bench: {'yes' if about.rig else 'none'}")
    typer.echo("options:" if document["options"] else "options: none")
    for row in document["options"]:
        default = "required" if row["default"] is None else f"default {msgspec.json.encode(row['default']).decode()}"
        bounds = ", ".join(filter(None, (row["type"], row["bounds"], default)))
        typer.echo(f"  {row['name']} ({bounds}): {row['text']}")
    return Exit.OK


def _document(name: str, about: AdapterAbout) -> dict[str, Any]:
    return {
        "adapter": name,
        "purpose": about.purpose,
        "from": dict(registered())[name],
        "models": list(about.models),
        "items": sorted(about.items),
        "methods": sorted(about.methods),
        "deadlines": about.deadlines._asdict(),
        "resolution_rad": about.resolution_rad,
        "authority": about.authority,
        "rig": about.rig,
        "options": msgspec.to_builtins(option_rows(about.options)),
    }


def verify(name: str, model: str, given: list[str], chosen: list[str]) -> int:
    """Run the suite on an adapter; whether all behaviours passed that it can have.

    Raises:
        ArmError: the adapter or its test bench cannot be used.
    """
    about = adapter_class(name).about
    options = options_of(given, about.options)
    if unknown := [each for each in chosen if each not in SUITE]:
        typer.echo(f"no behaviour {', '.join(unknown)}; known: {', '.join(SUITE)}", err=True)
        return Exit.USAGE
    set_up("critical")
    passed = asyncio.run(_verify(name, model, options, chosen))
    return Exit.OK if passed else Exit.REFUSED


def options_of(given: list[str], table: type[AdapterOptions]) -> dict[str, Setting]:
    """Options given as `K=V`: a text where the table wants one, else as TOML writes it.

    Raises:
        AdapterSettingError: one has no `=`; what else is wrong the adapter tells.
    """
    texts = {row.name for row in option_rows(table) if row.type == "text"}
    options: dict[str, Setting] = {}
    for each in given:
        option, sign, text = each.partition("=")
        if not sign:
            raise AdapterSettingError(f"--option {each}: K=V is wanted")
        options[option] = text if option in texts else _value(text)
    return options


def _value(text: str) -> Setting:
    """A number or boolean, or the text as it is."""
    try:
        value: Setting = msgspec.json.decode(text.encode(), type=int | float | bool)
    except msgspec.DecodeError:
        return text
    return value


async def _verify(name: str, model: str, options: Mapping[str, Setting], chosen: list[str]) -> bool:
    make = rig_maker(name)

    async def bench(directory: Path) -> Rig:
        return await make(directory, model, options)

    behaviours = {key: SUITE[key] for key in chosen} if chosen else SUITE
    width = max(map(len, behaviours))
    counts = dict.fromkeys(Verdict, 0)
    async for result in run_all(behaviours, bench):
        counts[result.verdict] += 1
        typer.echo(f"{result.name:{width}}  {result.verdict:4}  {result.why}".rstrip())
    typer.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return not counts[Verdict.FAIL] and bool(counts[Verdict.PASSED])


def _json(document: object) -> None:
    typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def install_kortex(wheel: Path, data: Path, python: str, pip_options: list[str]) -> int:
    """Build the environment of the workers of Kinova arms below the directory of the store.

    Raises:
        InstallError: it cannot be built.
    """
    target = data.resolve() / "adapters" / "kortex" / ENVIRONMENT
    installed = install(wheel, target, python=python, pip_options=pip_options)
    typer.echo(f"kortex_api {installed.version} is ready: {installed.python}")
    return Exit.OK
