"""`armbroker web` and `armbroker top`: the fleet on a page and in the terminal; neither can change an arm."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from armbroker.cli.exits import Exit
from armbroker.cli.options import (
    CaFile,
    Cert,
    Conn,
    Key,
    Mqtt,
    PasswordFile,
    ProfileName,
    Root,
    User,
    account,
    end,
)

if TYPE_CHECKING:
    from armbroker.cli.login import Account

WEB_HELP = """Serve one read-only page of the fleet: all arms, each with its limits, history and events, as it happens.

The account needs to read what is public (state, evt, svc), and to send requests only for histories. Everybody who
reaches the page reads what the account reads: bind it to this machine (as it is unless told), or put a server with a
login before it. Ends on SIGTERM or Ctrl-C.

\b
examples:
  armbroker web
  armbroker web --bind 127.0.0.1:9000 --mqtt mqtts://mqtt.plant.example --user screen --password-file screen.txt
  armbroker web --bind 0.0.0.0:8080 --name arms.plant.example
"""
TOP_HELP = """Show the fleet in the terminal, as it happens: all arms, each with its limits, values and events.

Needs `pip install armbroker[top]`. Keys: arrows, Enter (detail), v (limits, values, events), m (mode), / (filter), s,
S (sort), u (degrees or radians), e (events of all), Esc (back), q (end).

\b
examples:
  armbroker top
  armbroker top --mqtt mqtts://mqtt.plant.example --user screen --password-file screen.txt
"""


def web(
    bind: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to serve the page; port 0 takes any.")
    ] = "127.0.0.1:8080",
    name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A further name the page is called by; may be given again.")
    ] = None,
    pages: Annotated[int, typer.Option(min=1, max=200, help="Pages that may be open at once.")] = 50,
    mqtt: Mqtt = None,
    user: User = None,
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    cert: Cert = None,
    key: Key = None,
    conn: Conn = None,
    root: Root = None,
    profile: ProfileName = None,
) -> None:
    """Serve the page."""
    from armbroker.cli.outcome import ended  # noqa: PLC0415 - the MQTT client, only for what speaks to a server

    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    end(ended(lambda: asyncio.run(_serve(who, bind, tuple(name or ()), pages))))


def top(
    mqtt: Mqtt = None,
    user: User = None,
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    cert: Cert = None,
    key: Key = None,
    conn: Conn = None,
    root: Root = None,
    profile: ProfileName = None,
) -> None:
    """Show the fleet."""
    from armbroker.cli.outcome import ended  # noqa: PLC0415 - the MQTT client, only for what speaks to a server

    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    end(ended(lambda: asyncio.run(_show(who))))


async def _serve(who: "Account", bind: str, names: tuple[str, ...], pages: int) -> Exit:
    from armbroker.web.run import WebOptions, serve  # noqa: PLC0415 - only this command needs it
    from armbroker.web.server import parse_bind  # noqa: PLC0415 - likewise

    options = WebOptions(parse_bind(bind), names, pages)
    await serve(who.client(), options, lambda address: _say(f"{address} shows the fleet; Ctrl-C ends"))
    return Exit.OK


async def _show(who: "Account") -> Exit:
    try:
        from armbroker.top.run import show  # noqa: PLC0415 - textual is an extra
    except ModuleNotFoundError as error:
        raise ValueError("top needs textual: pip install 'armbroker[top]'") from error
    await show(who.client)
    return Exit.OK


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
