"""An MQTT server of the demo's own on a free port of loopback: Mosquitto, else iotcore."""

import asyncio
import contextlib
import importlib.util
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from armbroker.client import NoServerError
from armbroker.demo.processes import Child, DemoError, child

_MORE_PLACES = os.pathsep.join(["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"])
_START_S = 10.0
_POLL_S = 0.05

_MOSQUITTO = """\
listener {port} 127.0.0.1
allow_anonymous true
set_tcp_nodelay true
max_inflight_messages 1000
max_queued_messages 100000
persistence false
log_dest stderr
{user}"""

_IOTCORE = """\
id = 0
[router]
id = 0
max_connections = 100
max_outgoing_packet_count = 200
max_segment_size = 104857600
max_segment_count = 10
[v5.1]
name = "v5-1"
listen = "127.0.0.1:{port}"
next_connection_delay_ms = 1
[v5.1.connections]
connection_timeout_ms = 5000
max_payload_size = 262144
max_inflight_count = 1000
dynamic_filters = true
"""


class Plan(NamedTuple):
    """How to start a server: its command (the configuration file comes last), the name and text of that file."""

    name: str
    command: list[str]
    file: str
    config: str


class Server(NamedTuple):
    """A running server."""

    child: Child
    port: int

    @property
    def url(self) -> str:
        """Where clients connect to."""
        return f"mqtt://127.0.0.1:{self.port}"


def mosquitto_plan(program: str) -> Plan:
    """Mosquitto, from the path of its program."""
    return Plan("mosquitto", [program, "-c"], "mosquitto.conf", _MOSQUITTO)


def iotcore_plan() -> Plan:
    """The iotcore of this Python: MQTT 5 only."""
    command = [sys.executable, "-m", "iotcore", "--log-level", "critical", "--config"]
    return Plan("iotcore", command, "iotcore.toml", _IOTCORE)


def plan() -> Plan:
    """The server that this machine can run.

    Raises:
        NoServerError: there is none.
    """
    mosquitto = shutil.which("mosquitto") or shutil.which("mosquitto", path=_MORE_PLACES)
    if mosquitto is not None:
        return mosquitto_plan(mosquitto)
    if importlib.util.find_spec("iotcore") is not None:
        return iotcore_plan()
    raise NoServerError("no MQTT server: install mosquitto, or `pip install 'armbroker[demo]'`")


@contextlib.asynccontextmanager
async def mqtt_server(chosen: Plan, folder: Path) -> AsyncIterator[Server]:
    """A running server, its files in `folder`.

    Raises:
        DemoError: it does not start.
    """
    port = _free_port()
    config = folder / chosen.file
    user = (
        "user root\n" if os.geteuid() == 0 else ""
    )  # started by root, Mosquitto would become a user that may not exist
    config.write_text(chosen.config.format(port=port, user=user), encoding="utf-8")
    async with child(chosen.name, [*chosen.command, str(config)], folder) as process:
        await _listening(process, port)
        yield Server(process, port)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


async def _listening(process: Child, port: int) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_START_S):
            while process.process.returncode is None:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    return
                await asyncio.sleep(_POLL_S)
            raise await process.ended()
    raise DemoError(f"{process.name} does not take connections on port {port} after {_START_S:g} s")
