"""The command `armbroker doctor`."""

from pathlib import Path
from typing import Annotated

import typer

from armbroker.cli.exits import Exit
from armbroker.cli.options import AsJson, CaFile, Cert, Key, Mqtt, PasswordFile, ProfileName, User, end


def doctor(
    config: Annotated[Path, typer.Option(metavar="FILE", help="The settings of the service, a fleet.toml.")],
    mqtt: Mqtt = None,
    user: User = None,
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    cert: Cert = None,
    key: Key = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Examine."""
    from armbroker.cli.doctor import run  # noqa: PLC0415 - the MQTT link, only for this command
    from armbroker.cli.profiles import ProfileError, given  # noqa: PLC0415 - likewise

    files = {"password_file": password_file, "ca_file": ca_file, "cert_file": cert, "key_file": key}
    named = {name: None if path is None else str(path) for name, path in files.items()}
    try:
        found = given({"url": mqtt, "user": user, **named}, profile)
    except ProfileError as error:
        typer.echo(f"armbroker doctor: {error}", err=True)
        raise typer.Exit(Exit.USAGE) from None
    end(run(config, found, as_json=as_json))
