#!/usr/bin/env python3
"""How much a commit carries that is not its own: copies of the write-ahead log, and the time that they take.

A store as the service has it, on an event loop; changes of arms in turns come at a rate, each of two commits, and
some at once as groups. Counted are the commits that wrote more than they put into the log (they copied it; exact,
whatever else runs), and those slower than 5 ms; times are noisy. The log's size is the largest seen.

    PYTHONPATH=. bench/commit_stalls.py [--rate 200] [--group 1] [--seconds 20] [--seed 1] [--place DIR]
"""

import argparse
import asyncio
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from bench.store_commit import accept, meet, settle
from bench.ticker import Ticker
from broker.store.store import FILE, Store

PAGE = 4096
HEAD, FRAME = 32, PAGE + 24
"""Bytes of the head of a write-ahead log, and of each page in it."""
SLOW_S = 0.005


def written() -> int:
    """Bytes that this thread wrote so far."""
    with open("/proc/thread-self/io") as file:  # noqa: PTH123 - the fewest calls
        return int(file.read().split()[3])


class Log:
    """How many bytes of a write-ahead log are of its present round: others have other salts."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self._salts, self._end = b"", HEAD

    def grown(self) -> int:
        """Bytes that came since the last call."""
        salts, begun = os.pread(self._descriptor, 8, 16), self._end
        if salts != self._salts:
            self._salts, self._end, begun = salts, HEAD, 0
        while os.pread(self._descriptor, 8, self._end + 8) == salts:
            self._end += FRAME
        return self._end - begun


class Commits:
    """What each transaction of a store took, and wrote beside the log."""

    def __init__(self, store: Store, log: Path) -> None:
        self._log = Log(log)
        self._log.grown()
        self.took_s: list[float] = []
        self.wrote: list[int] = []
        self.on_loop: list[bool] = []
        writer = store._writer  # noqa: SLF001 - from outside
        self._transact = writer._transact  # noqa: SLF001
        self._loop_thread = threading.get_ident()
        setattr(writer, "_transact", self._measured)  # noqa: B010 - from outside

    def _measured(self, work: Callable[[Any], object], what: Any) -> object:
        began, began_s = written(), time.perf_counter()
        try:
            return self._transact(work, what)
        finally:
            self.took_s.append(time.perf_counter() - began_s)
            wrote = written() - began
            self.wrote.append(wrote - self._log.grown())
            self.on_loop.append(threading.get_ident() == self._loop_thread)


async def change(store: Store, numbers: range) -> None:
    """Changes that come at once, from the request to the end."""
    for stage in (accept, settle):
        done = asyncio.Event()
        for number in numbers:
            stage(store.batch, number)
        store.batch.on_commit(done.set)
        store.flush_soon()
        await done.wait()


async def load(store: Store, args: argparse.Namespace, log: Path) -> tuple[list[float], int]:
    """Changes at the rate, at random times; how long each took, and the largest size of the log."""
    dice, loop = Random(args.seed), asyncio.get_running_loop()
    took_s: list[float] = []
    tasks: set[asyncio.Task[None]] = set()
    due_s, end_s, number, largest = loop.time(), loop.time() + args.seconds, 1, 0

    async def one(numbers: range, began_s: float) -> None:
        await change(store, numbers)
        took_s.append(loop.time() - began_s)

    while due_s < end_s:
        await asyncio.sleep(max(0.0, due_s - loop.time()))
        task = asyncio.create_task(one(range(number, number + args.group), due_s))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        number += args.group
        due_s += dice.expovariate(args.rate / args.group)
        largest = max(largest, os.stat(log).st_size)  # noqa: PTH116 - of a file in memory
    await asyncio.gather(*tasks)
    return took_s, largest


def share(values_s: list[float], part: float) -> str:
    """That part of the values is smaller."""
    return f"{1e3 * sorted(values_s)[min(len(values_s) - 1, int(len(values_s) * part))]:.2f} ms"


async def run(args: argparse.Namespace, directory: Path) -> bool:
    """Load a store; whether no commit on the loop's thread copied the log."""
    store = Store.open(directory, lambda: 0)
    store.load()
    meet(store._writer)  # noqa: SLF001
    log = directory / f"{FILE}-wal"
    commits, ticker = Commits(store, log), Ticker(asyncio.get_running_loop())
    cpu_s = time.process_time()
    took_s, largest = await load(store, args, log)
    cpu_s, worst_s = time.process_time() - cpu_s, ticker.take()
    carried = [here for here, wrote in zip(commits.on_loop, commits.wrote, strict=True) if wrote > PAGE]
    changes, took, most = len(took_s) * args.group, commits.took_s, max(commits.wrote) / 1024
    print(f"seed {args.seed}, {args.rate:g}/s in groups of {args.group}, {args.seconds:g} s: {len(took)} commits")
    print(f"  {len(carried)} copied the log, {sum(carried)} on the loop's thread, {most:.0f} KiB at most")
    print(f"  {sum(one > SLOW_S for one in took)} took more than {1e3 * SLOW_S:g} ms", end=", ")
    print(f"p99.9 {share(took, 0.999)}, at most {share(took, 1)}")
    print(f"  changes: p50 {share(took_s, 0.5)}, p99 {share(took_s, 0.99)}, p99.9 {share(took_s, 0.999)}")
    print(f"  the loop stood for {1e3 * worst_s:.1f} ms, the log grew to {largest / 2**20:.1f} MiB", end="; ")
    print(f"{1e6 * cpu_s / changes:.0f} us CPU a change", flush=True)
    store.close()
    return not any(carried)


def main() -> int:
    """Read the command line and run; exit code 1 when a commit on the loop's thread copied the log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--group", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--place", help="directory to write in (default: the system's)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.place) as name:
        return int(not asyncio.run(run(args, Path(name))))


if __name__ == "__main__":
    sys.exit(main())
