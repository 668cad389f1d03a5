"""Device agents as real processes: started, told to misbehave, killed."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from tests.mosquitto import ROOT

END_S = 20.0


class AgentProcess:
    """`armbroker agent --faults` for some arms, remembered in `folder`; may be started again."""

    def __init__(self, url: str, root: str, folder: Path, *arms: str, options: tuple[str, ...] = ()) -> None:
        self.arms = arms
        self._folder = folder
        named = [word for arm in arms for word in ("--arm", arm)]
        self._command = [
            sys.executable, "-m", "armbroker", "agent", "--mqtt", url, "--root", root, "--data", str(folder / "arms"),
            "--latency", "0", "--faults", *named, *options,
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The number of its process, 0 when it was not started."""
        return self._process.pid if self._process is not None else 0

    @property
    def log(self) -> str:
        """What it has written, over all its starts."""
        return (self._folder / "agent.log").read_text()

    def start(self) -> Self:
        """Start it; does not wait for it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "agent.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                start_new_session=True,
            )
        return self

    async def tell(self, arm: str, **line: Any) -> None:
        """Have it misbehave, or another writer change an arm; returns once it does.

        Raises:
            RuntimeError: it does not take the line.
        """
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("it was not started")
        process.stdin.write(json.dumps({"arm": arm, **line}).encode() + b"\n")
        process.stdin.flush()
        answer = await asyncio.to_thread(process.stdout.readline)
        if answer != b"ok\n":
            raise RuntimeError(f"{line}: {answer.decode()}")

    def kill(self) -> None:
        """End it as a power cut would, if it runs."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """End it with SIGTERM; its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        code = process.wait(END_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        return code
