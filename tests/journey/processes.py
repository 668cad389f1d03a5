"""A whole service as a process of its own, so that it can be killed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.journey.client import Client
from tests.mosquitto import ROOT, Mosquitto

END_S = 120.0
_ARM = '[[arm]]\nid = "{arm}"\nmodel = "gen3_7dof"\n'
_SETTINGS = """root = "{name}"
[mqtt]
url = "{url}"
client_id = "service-{name}"
[store]
dir = "{data}"
reserve_mib = 1
[sim]
faults = true
latency_ms = {latency_ms}
[clients."*"]
rights = ["write", "authority", "confirm", "factory", "unlock"]
{more}
"""


class ServiceProcess:
    """`armbroker run` on a store in `folder`; `name` is root and client id. Started, killed and started again.

    `module` runs in place of `armbroker`: for tests that let it fail from within. `port`, unless 0, is where the
    service looks for the MQTT server: a proxy before it.
    """

    def __init__(
        self,
        server: Mosquitto,
        folder: Path,
        name: str,
        arms: Sequence[str],
        *,
        latency_ms: float = 0,
        more: str = "",
        module: str = "armbroker",
        port: int = 0,
    ) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.root = f"{name}/v1"
        self.port = server.port
        self.config = folder / "fleet.toml"
        self._module = module
        text = _SETTINGS.format(
            name=name, url=f"mqtt://127.0.0.1:{port or server.port}", data=self.data, latency_ms=latency_ms, more=more
        )
        self.config.write_text(text + "".join(_ARM.format(arm=arm) for arm in arms))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The number of its process, 0 when it was not started."""
        return self._process.pid if self._process is not None else 0

    @property
    def returncode(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll() if self._process is not None else None

    @property
    def log(self) -> str:
        """What it has written, over all its starts."""
        return (self.folder / "service.log").read_text()

    def start(
        self,
        *,
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> Self:
        """Start it, behind the words of `prefix`, with more arguments and environment; does not wait for it."""
        command = [*prefix, sys.executable, "-m", self._module, "run", "--config", str(self.config), *arguments]
        with (self.folder / "service.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )
        return self

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut would, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(END_S)

    async def exit_code(self) -> int:
        """Wait for its end."""
        if self._process is None:
            raise RuntimeError("it was not started")
        return await asyncio.to_thread(self._process.wait, END_S)

    async def stop(self) -> int:
        """End it with SIGTERM; its exit code."""
        self.signal(signal.SIGTERM)
        return await self.exit_code()


async def online(monitor: Client, epoch: int) -> None:
    """Wait until a monitor of `svc/+` sees a run of this epoch, or a later one, take requests.

    A request is answered then; it need not be the first one.
    """
    await monitor.document("svc/main", lambda document: document["state"] == "online" and document["epoch"] >= epoch)
