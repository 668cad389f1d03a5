"""`armbroker agent`: simulated arms behind MQTT, in a process or on a host of their own."""

import asyncio
import sys
from pathlib import Path
from typing import NamedTuple

from armbroker.agent.connection import AgentLogin, files_of
from armbroker.agent.process import AgentSettings, serve
from armbroker.cli.exits import Exit
from armbroker.client.address import parse_address
from broker import logs
from broker.tls import TlsFiles
from broker.topics import Topics, is_name
from devices.adapter import ArmError


class AgentArguments(NamedTuple):
    """The command line."""

    mqtt: str
    arm: list[str]
    arms: int
    prefix: str
    model: str
    data: Path
    root: str
    password_file: Path | None
    tls: TlsFiles
    keepalive: int
    latency: float
    faults: bool


def settings_of(given: AgentArguments) -> AgentSettings:
    """The settings that the command line asks for.

    Raises:
        ValueError: something of it cannot be used.
        OSError: a file cannot be read.
    """
    names = (*given.arm, *(f"{given.prefix}{number:04d}" for number in range(given.arms)))
    if not names or len(set(names)) != len(names):
        raise ValueError("--arm ID, each once, or --arms N is needed")
    if wrong := [name for name in names if not is_name(name)]:
        raise ValueError(f"{wrong[0]!r} is no arm id ([A-Za-z0-9][A-Za-z0-9._-]{{0,62}})")
    for name in names:
        parse_address(given.mqtt).tls_context(files_of(given.tls, name))
    password = None
    if given.password_file is not None:
        password = given.password_file.read_text(encoding="utf-8").partition("\n")[0]
    login = AgentLogin(given.mqtt, Topics(given.root), password, given.tls, given.keepalive)
    return AgentSettings(names, given.model, given.data, login, given.latency, given.faults)


def run(given: AgentArguments) -> Exit:
    """Run the agents until told to end."""
    try:
        settings = settings_of(given)
        logs.set_up("info")
        asyncio.run(serve(settings))
    except (ValueError, OSError, ArmError) as error:
        sys.stderr.write(f"armbroker agent: {error}\n")
        return Exit.USAGE
    return Exit.OK
