"""Two services on one root: one later than the other, both at once, and one that stood still while another came."""

import asyncio
import signal
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.campaigns.defects import VARIABLE
from tests.campaigns.figures import Figures
from tests.campaigns.people import Asked
from tests.campaigns.places import folders
from tests.campaigns.stage import Stage
from tests.journey.processes import ServiceProcess

SECOND_SERVICE = 4
"""The exit code of the one that ends."""
WITHIN_S, LIVES_S = 300.0, 15.0
"""So long one of two may take to end; who still serves that long after its start was not stopped."""
WAITING = 20
"""Requests that are sent while a service stands still."""


class Kind(NamedTuple):
    """How two services meet; `same`: with one client id and instance, else another one of both, as on another host."""

    name: str
    same: bool


KINDS = (
    Kind("later", True),
    Kind("at once", False),
    Kind("later", False),
    Kind("frozen", False),
    Kind("at once", True),
    Kind("frozen", True),
)


class Pair:
    """The service of a stage, and another one on a store and arms of its own."""

    def __init__(self, stage: Stage, folder: Path, *, same: bool, defect: str) -> None:
        folder.mkdir()
        self.stage, self.one = stage, stage.process
        module = "tests.campaigns.defects" if defect else "armbroker"
        self.two = ServiceProcess(stage.server, folder, "stage", stage.arms, latency_ms=2, module=module)
        if not same:
            text = self.two.config.read_text().replace('client_id = "service-stage"', 'client_id = "elsewhere"')
            self.two.config.write_text(f'instance = "elsewhere"\n{text}')
        self._environment = {VARIABLE: defect} if defect else {}

    def start_second(self) -> None:
        """Start the other one."""
        self.two.start(environment=self._environment)

    async def one_ended(self) -> None:
        """Wait until one has ended, or both serve for a while."""
        served = 0.0
        async with asyncio.timeout(WITHIN_S):
            while self.one.returncode is None and self.two.returncode is None and served < LIVES_S:
                await asyncio.sleep(0.1)
                served += 0.1 if '"started"' in self.two.log and '"started"' in self.one.log else 0.0

    def carried_out(self) -> Counter[tuple[object, float]]:
        """What the arms of both did, and how often."""
        done: Counter[tuple[object, float]] = Counter((place, number) for place, number, _ in self.stage.taken())
        done.update((place, number) for place, number, _ in self.stage.journal_of(self.two.data))
        return done


async def _later(pair: Pair) -> None:
    pair.stage.start()
    await pair.stage.online(1)
    async with pair.stage.load(may_end=True):
        await asyncio.sleep(0.5)
        pair.start_second()
        await pair.one_ended()
        await asyncio.sleep(0.5)


async def _at_once(pair: Pair) -> None:
    pair.stage.start()
    pair.start_second()
    await pair.one_ended()
    async with pair.stage.load(may_end=True):
        await asyncio.sleep(1.0)


async def _frozen(pair: Pair) -> None:
    """The first one stands still until the second one serves, with requests that only it has got."""
    stage = pair.stage
    stage.start()
    await stage.online(1)
    async with stage.load(may_end=True):
        await asyncio.sleep(0.5)
    await asyncio.sleep(0.5)  # everything that was asked is acknowledged
    pair.one.signal(signal.SIGSTOP)
    person = stage.users[0]
    for _ in range(WAITING):
        asked: Asked = stage.next_request(person)
        await person.send(asked.arm, asked.method, {"id": asked.full_id.rpartition("/")[2], **asked.fields})
    pair.start_second()
    async with asyncio.timeout(WITHIN_S):
        while '"started"' not in pair.two.log and pair.two.returncode is None:  # noqa: ASYNC110 - asked from outside
            await asyncio.sleep(0.1)
    pair.one.signal(signal.SIGCONT)
    await pair.one_ended()
    async with stage.load(may_end=True):
        await asyncio.sleep(0.5)


_MEETINGS = {"later": _later, "at once": _at_once, "frozen": _frozen}


async def _trial(folder: Path, seed: float, kind: Kind, defect: str, figures: Figures) -> None:
    (folder / "one").mkdir()
    stage = Stage(folder / "one", seed, users=2, defect=defect)
    pair = Pair(stage, folder / "two", same=kind.same, defect=defect)
    label = f"{kind.name}, {'same' if kind.same else 'other'} client id"
    async with stage.open():
        try:
            await _MEETINGS[kind.name](pair)
            codes = [pair.one.returncode, pair.two.returncode]
            figures.expect(sorted(codes, key=str) == [SECOND_SERVICE, None], f"{label}: exit codes {codes}")
            if kind.name == "later":
                figures.expect(codes[0] is None, f"{label}: the one that served ended")
            twice = [one for one, times in pair.carried_out().items() if times > 1]
            figures.expect(not twice, f"{label}: carried out twice: {twice[:3]}")
            for person in stage.users:
                again = [reply["id"] for reply in person.strays if not reply.get("duplicate") and reply["ok"]]
                answered = {
                    full_id.rpartition("/")[2]
                    for full_id, asked in stage.asked.items()
                    if asked.replies and full_id.startswith(f"{person.user}/")
                }
                figures.expect(not answered & set(again), f"{label}: answered twice: {again[:3]}")
            figures.count("requests", len(stage.asked))
            figures.count(f"pairs {label}")
            figures.trials += 1
        except TimeoutError:
            figures.expect(False, f"{label}: neither ended within {WITHIN_S:g} s")
        finally:
            pair.two.kill()


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many pairs of services; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(trials):
        asyncio.run(_trial(folder, seed * 1000 + number, KINDS[number % len(KINDS)], defect, figures))
    return figures
