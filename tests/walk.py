"""The walk of a Set: which functions of the service it goes through, in order. `python -m tests.walk` writes the page.

Traced is a Set of an arm that answers at once, on a link in memory, while the disk is quick; the caches are warm.
"""

import asyncio
import gc
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from textwrap import wrap
from types import FrameType
from typing import Any, NamedTuple

from broker.store.group_commit import Pace
from tests.counted_calls import OUTSIDE, ROOT
from tests.virtual_plant import Plant, play

PAGE = ROOT / "docs" / "walk.md"
SET = "SetTwistLinearSoftLimit"
HEAD = """# The walk of a Set

Every function of the shell (`broker/`) that a Set goes through, in the order in which it is met first, and what the
shell calls on the floors below; what those call themselves is theirs. `tests/test_walk.py` follows a Set with a tracer
and fails when this page is wrong; `python -m tests.walk` writes it anew.

The arm answers at once and the disk is quick: then everything happens in one turn of the event loop. Otherwise the same
functions are met later: a commit in the writer's thread (`Writer.commit` instead of `Writer.commit_here`), the exchange
with the arm in a task of its queue (`Settler.settle` instead of `Settler.settle_now`).
"""
BY_THE_MOMENT = {
    "Reserve.look",
    "Reserve._look",
    "Reserve._make",
    "disk",
    "format_time",
    "Clock._reckon",
    "Clock._judge",
}
"""Met once a second or so: left out."""
_NEW = count(432_100)
"""Values that were never set before: what is encoded is remembered by the whole process, and a warm memo is not met."""
WIDTH = 120
STAGES: tuple[tuple[str, str, str], ...] = (
    ("Turnstile.run", "Taken in", "All of one read of the socket; judged by their users' rates before they are read."),
    ("Turnstile._pick_now", "Decided", "By turns that are fair to all users; up to 32 ids are looked up at once."),
    ("Acceptor._change", "Accepted", "A revision, a command number where the arm is prompt, the rows of commit 1."),
    ("GroupCommit.release", "Commit 1", "At the end of the read."),
    ("GroupCommit._call_back", "Settled", "What is committed goes to the arm, is read back, and ends."),
    ("Acceptor._committed", "Acknowledged", "The PUBACK, in the order of arrival; then commit 2."),
    ("Ledger.tell", "Told", "Event, notices and reply in one write; marked when the MQTT server has them."),
)  # fmt: skip
"""The function that each stage begins with, its title, and what happens in it."""


class Met(NamedTuple):
    """A function that was met: its file below the root, its name."""

    file: str
    name: str


class _Quick(Pace):
    """A disk that is quick."""

    @property
    def quick(self) -> bool:
        """See `Pace.quick`."""
        return True


class Tracer:
    """Notes the functions of the shell, and those that it calls, when each is met first."""

    def __init__(self) -> None:
        self.met: dict[Met, None] = {}
        self._outside: FrameType | None = None

    def hear(self, frame: FrameType, event: str, argument: Any) -> None:
        """What `sys.setprofile` tells."""
        del argument
        if self._outside is not None:
            if event == "return" and frame is self._outside:
                self._outside = None
        elif event == "call":
            self._enter(frame)

    def _enter(self, frame: FrameType) -> None:
        name = frame.f_code.co_filename
        if name.startswith(OUTSIDE):
            self._outside = frame
            return
        caller = frame.f_back.f_code.co_filename if frame.f_back is not None else ""
        ours = name.startswith(f"{ROOT}/") and "site-packages" not in name and "<" not in frame.f_code.co_qualname
        if ours and frame.f_code.co_qualname not in BY_THE_MOMENT and (_is_shell(name) or _is_shell(caller)):
            self.met.setdefault(Met(name.removeprefix(f"{ROOT}/"), frame.f_code.co_qualname))


def _is_shell(name: str) -> bool:
    return name.startswith(f"{ROOT}/broker/")


def _params() -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": next(_NEW) / 1_000_000}


def traced() -> list[Met]:
    """The functions of one Set, in order."""
    tracer = Tracer()

    async def scenario(plant: Plant) -> None:
        plant.store._pace = _Quick()
        ticks, wall_us = count(1), plant.clock.wall_us
        plant.clock.wall_us = lambda: wall_us() + next(ticks)
        for _ in range(2):
            await plant.call("r1", SET, _params())
            await plant.turn(3.0)
        plant.send("r1", SET, _params(), id="walk")
        gc.collect()
        gc.disable()  # what other tests left would end within the walk
        sys.setprofile(tracer.hear)
        try:
            await asyncio.sleep(0)
            while not plant.link.published[-1].topic.startswith("res/u/c/walk"):  # noqa: ASYNC110 - traced turn by turn
                await asyncio.sleep(0)
        finally:
            sys.setprofile(None)
            gc.enable()

    with tempfile.TemporaryDirectory() as directory:
        play(Path(directory), scenario, arms=("r1",))
    return list(tracer.met)


def page(met: Iterable[Met]) -> str:
    """The page that says so."""
    return "\n".join((HEAD.rstrip(), *_lines(met))) + "\n"


def _runs(met: Iterable[Met]) -> Iterator[tuple[str, list[str]]]:
    """Functions that follow each other in one module, which a stage may begin in the middle of."""
    firsts = {first for first, _, _ in STAGES}
    room, names = "", list[str]()
    for one in met:
        module = one.file.removesuffix(".py").removeprefix("broker/")
        if names and (module != room or one.name in firsts):
            yield room, names
            names = []
        room = module
        names.append(one.name)
    yield room, names


def _lines(met: Iterable[Met]) -> Iterator[str]:
    begins = {first: (title, text) for first, title, text in STAGES}
    for room, names in _runs(met):
        if names[0] in begins:
            title, text = begins.pop(names[0])
            yield f"\n## {title}\n\n{text}\n"
        yield from wrap(
            f"- **{room}** {', '.join(f'`{name}`' for name in names)}", WIDTH, subsequent_indent="  ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    if begins:
        raise ValueError(f"no stage begins with {', '.join(begins)}")


if __name__ == "__main__":
    PAGE.write_text(page(traced()))
