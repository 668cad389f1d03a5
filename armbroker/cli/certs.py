"""The command `armbroker certs`, and its help."""

import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from armbroker.cli.exits import Exit

NOTE = (
    "For development and trials: whoever can read {folder}/ca.key makes certificates for any user and any server. "
    "In a plant let the plant's authority sign."
)


def certs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where authority and certificates are, or will be.")],
    host: Annotated[
        list[str] | None, typer.Option(help="Name or address of the MQTT server; may be given again. Its certificate.")
    ] = None,
    client: Annotated[
        list[str] | None, typer.Option(help="User that gets a certificate, its common name; may be given again.")
    ] = None,
    days: Annotated[int, typer.Option(help="How long the certificates last, at most 825.")] = 365,
    renew: Annotated[bool, typer.Option("--renew", help="Make certificates anew that are there already.")] = False,
) -> None:
    """Make what is missing."""
    try:
        from armbroker import certificates as work  # noqa: PLC0415 - cryptography, only for this command
    except ImportError:
        typer.echo("armbroker certs: cryptography is missing: pip install 'armbroker[certs]'", err=True)
        raise typer.Exit(Exit.USAGE) from None
    wanted = work.Wanted(tuple(host or ()), tuple(client or ()), days, renew)
    try:
        written = work.make(folder, wanted, dt.datetime.now(dt.UTC))
    except (work.CertsError, OSError) as error:
        typer.echo(f"armbroker certs: {error}", err=True)
        raise typer.Exit(Exit.USAGE) from None
    for path in written:
        typer.echo(f"{path} {path.with_name(path.name.removesuffix('.crt') + '.key')}")
    if not written:
        typer.echo("nothing to make: all certificates are there (--renew makes them anew)")
    typer.echo(NOTE.format(folder=folder), err=True)
