"""The node of arm_node.py in a process of its own, for trials."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("arm_node.py")


class NodeProcess:
    """A running node; see arm_node.py for its orders. Its name is that of an option `node`, `/arm/driver`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, python: str, node: str, domain: int, file: Path, **more: bool | str) -> "NodeProcess":
        """Start a node whose parameters are in a file, with `more` options; returns once it serves.

        Raises:
            OSError: the interpreter cannot be started.
            EOFError: the node ended at once; its standard error says why.
        """
        namespace, _, name = node.rpartition("/")
        options = {"name": name, "namespace": namespace or "/", "domain": domain, **more}
        started = cls(
            await asyncio.create_subprocess_exec(
                *(python, str(PROGRAM), json.dumps(options), "--ros-args", "--params-file", str(file)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        )
        await started.answer()
        return started

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    async def tell(self, **order: Any) -> Any:
        """Give an order, and return what the node answers."""
        self.order(**order)
        return await self.answer()

    def order(self, **order: Any) -> None:
        """Give an order."""
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")

    async def answer(self) -> Any:
        """The answer to an order.

        Raises:
            EOFError: the node has ended.
        """
        line = await self._process.stdout.readline() if self._process.stdout is not None else b""
        if not line:
            raise EOFError("the node has ended")
        return json.loads(line)

    async def holds(self, name: str) -> Any:
        """The value of a parameter."""
        return (await self.tell(values=[]))[name]

    async def kill(self) -> None:
        """End the node without a farewell; harmless when it has ended."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def end(self) -> None:
        """Let the node say farewell to the graph and end."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()


def write_parameters(file: Path, node: str, values: Mapping[str, Any]) -> None:
    """Write a parameter file of a node."""
    lines = [f"    {name}: {json.dumps(value)}" for name, value in values.items()]
    file.write_text("\n".join([f"{node}:", "  ros__parameters:", *lines, ""]), encoding="utf-8")
