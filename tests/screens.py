"""`armbroker web` as a process, for tests and benches."""

import asyncio
import contextlib
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from typing import NamedTuple

END_S = 30.0


class Served(NamedTuple):
    """A page that is served: its address, and the process behind it."""

    address: str
    process: Process


@contextlib.asynccontextmanager
async def page_served(url: str, *arguments: str) -> AsyncIterator[Served]:
    """`armbroker web` on any port, fed by the MQTT server `url`; ended with SIGTERM, after which it has to be well."""
    command = (sys.executable, "-m", "armbroker", "web", "--bind", "127.0.0.1:0", "--mqtt", url, *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    try:
        line = b"" if process.stdout is None else await asyncio.wait_for(process.stdout.readline(), END_S)
        if not line and process.stderr is not None:
            raise RuntimeError((await process.stderr.read()).decode())
        yield Served(line.decode().split()[0], process)
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            if code := await asyncio.wait_for(process.wait(), END_S):
                raise RuntimeError(f"armbroker web ended with {code}")
            said = b"" if process.stderr is None else await process.stderr.read()
            if b"Traceback" in said:
                raise RuntimeError(said.decode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
