"""Options that several commands have."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armbroker.cli import completion
from armbroker.cli.exits import Exit

if TYPE_CHECKING:
    from armbroker.cli.login import Account

Mqtt = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="MQTT server, mqtt://host[:port] or mqtts://host[:port]; else ARMBROKER_MQTT_URL, else of the profile, "
        "else mqtt://127.0.0.1:1883.",
    ),
]
User = Annotated[str | None, typer.Option(help="MQTT user name; else ARMBROKER_MQTT_USER, profile, cli.")]
PasswordFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File whose first line is the user's password; ARMBROKER_MQTT_PASSWORD_FILE."),
]
CaFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Authorities for mqtts://, instead of the system's; ARMBROKER_MQTT_CA_FILE."),
]
Cert = Annotated[
    Path | None, typer.Option("--cert", metavar="FILE", help="Client certificate, PEM; ARMBROKER_MQTT_CERT_FILE.")
]
Key = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="Its key, where FILE of --cert has none; ARMBROKER_MQTT_KEY_FILE."),
]
Conn = Annotated[
    str | None, typer.Option(help="MQTT client id; ARMBROKER_CONN; cli-<8 hex digits> where nothing tells it.")
]
Root = Annotated[str | None, typer.Option(help="First levels of every topic; else ARMBROKER_ROOT, profile, armbroker.")]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        autocompletion=completion.profiles,
        help="Table of ~/.config/armbroker/profiles.toml that says all these, instead of the environment; else that of "
        "ARMBROKER_PROFILE, else [default].",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON lines, as published.")]


def account(
    profile: str | None,
    url: str | None,
    root: str | None,
    ca_file: Path | None,
    password_file: Path | str | None,
    cert_file: Path | str | None,
    key_file: Path | str | None,
    user: str | None = None,
    conn: str | None = None,
) -> "Account":
    """Who the command is; what cannot be used is told, and ends the command."""
    from armbroker.cli.login import account_of  # noqa: PLC0415 - the MQTT client, only for what speaks to a server
    from armbroker.cli.profiles import ProfileError, chosen  # noqa: PLC0415 - likewise

    names = {"url": url, "root": root, "ca_file": ca_file, "user": user, "conn": conn}
    given = names | {"password_file": password_file, "cert_file": cert_file, "key_file": key_file}
    try:
        options = {name: None if value is None else str(value) for name, value in given.items()}
        return account_of(chosen(options, profile))
    except ProfileError as error:
        typer.echo(f"armbroker: {error}", err=True)
        raise typer.Exit(Exit.USAGE) from None


def end(code: Exit) -> Any:
    """End the command."""
    raise typer.Exit(code)
