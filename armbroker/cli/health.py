"""`armbroker health`: whether the service of some settings is there, for a supervisor of containers."""

from pathlib import Path
from typing import Annotated

import typer

from armbroker.cli.exits import Exit

SHORT = "Ask whether the service is there: armbroker health --config fleet.toml"
TEXT = """Ask the MQTT server of the settings whether their service is there: as the service's own user, by what it says
    of itself each 10 s. Exit codes: 0 it is, 1 it is not (or was not seen for 30 s), 2 settings, 4 no MQTT server.

    \b
    examples:
      armbroker health --config /etc/armbroker/fleet.toml
    """


def health(
    config: Annotated[Path, typer.Option(metavar="FILE", help="The settings of the service.")] = Path(
        "/etc/armbroker/fleet.toml"
    ),
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer, all told.")] = 5.0,
) -> None:
    """Ask, and say what came of it."""
    from armbroker.cli.health_work import ask  # noqa: PLC0415 - the MQTT client, only for this command
    from broker import logs  # noqa: PLC0415 - likewise
    from broker.settings import SettingsError, load  # noqa: PLC0415 - likewise

    logs.set_up("error")
    try:
        code, text = ask(load(config), timeout)
    except SettingsError as error:
        code, text = Exit.USAGE, str(error)
    typer.echo(text, err=code is not Exit.OK)
    raise typer.Exit(code)
