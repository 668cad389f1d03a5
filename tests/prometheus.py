"""A real Prometheus for tests, with the shipped rules, that scrapes one service often."""

import asyncio
import http.client
import json
import os
import shutil
import signal
import subprocess
import urllib.parse
from pathlib import Path
from typing import Any, Self

from tests.mosquitto import ROOT, free_port

PROGRAM = "prometheus"
SHIPPED = ROOT / "deploy/prometheus"
_TARGET, _OFTEN = '"127.0.0.1:9464"', "15s"
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy/grafana/armbroker.json").read_text())


def queries_of(panel: dict[str, Any], window: str) -> list[str]:
    """The queries of a panel as Grafana would send them for all services; `window` is what it rates over."""
    return [
        target["expr"].replace("$__rate_interval", window).replace("$instance", ".*")
        for target in panel.get("targets", ())
    ]


class Prometheus:
    """A Prometheus with the shipped configuration; only the target and how often it asks are others."""

    def __init__(self, folder: Path, target: str, *, every: str = "1s") -> None:
        self.port = free_port()
        self._folder = folder
        folder.mkdir()
        text = (SHIPPED / "prometheus.yml").read_text()
        if text.count(_TARGET) != 1 or text.count(_OFTEN) != 2:
            raise ValueError("the shipped prometheus.yml is not what is known here")
        (folder / "prometheus.yml").write_text(text.replace(_TARGET, f'"{target}"').replace(_OFTEN, every))
        shutil.copy(SHIPPED / "alerts.yml", folder)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start it; does not wait for it."""
        command = [
            PROGRAM, f"--config.file={self._folder}/prometheus.yml", f"--storage.tsdb.path={self._folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]  # fmt: skip
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "GOMAXPROCS": "1"}
            )
        return self

    def stop(self) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(30)

    @property
    def log(self) -> str:
        """What it said."""
        return (self._folder / "log").read_text()

    async def ask(self, path: str, **query: str) -> Any:
        """`data` of an answer of its API; None while it does not answer. ValueError for a query that it refuses."""
        status, answer = await asyncio.to_thread(self._get, f"/api/v1/{path}?{urllib.parse.urlencode(query)}")
        if status == http.HTTPStatus.BAD_REQUEST:
            raise ValueError(answer["error"])
        return answer.get("data")

    async def series(self, query: str) -> list[dict[str, Any]]:
        """What a query gives now."""
        answer = await self.ask("query", query=query)
        found: list[dict[str, Any]] = [] if answer is None else answer["result"]
        return found

    async def until(self, query: str) -> list[dict[str, Any]]:
        """Ask until a query gives something; what it gives."""
        while True:
            if found := await self.series(query):
                return found
            await asyncio.sleep(0.2)

    def _get(self, path: str) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            found: dict[str, Any] = json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return 0, {}
        else:
            return answer.status, found
        finally:
            connection.close()
