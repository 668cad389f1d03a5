"""Backups under load, a life that goes on, a restore: numbers, arms and monitors stay honest.

Backup and restore are the commands, in processes of their own. The monitor compares every (epoch, seq) that it was ever
told; the journal of the arms tells what was sent to them.
"""

import asyncio
import os
import sys
from pathlib import Path

from tests.campaigns.checker import PAGE
from tests.campaigns.defects import VARIABLE
from tests.campaigns.figures import Figures, play
from tests.campaigns.people import Document, Told
from tests.campaigns.places import folders
from tests.campaigns.stage import ITEM, Stage, Taken
from tests.mosquitto import ROOT

TOGETHER = 5
"""So many drills one after the other on one plant."""
OFFLINE = "r3"
"""The arm that is away while the backup is made, so that a change waits for it."""


class Drill:
    """Drills on one stage."""

    def __init__(self, stage: Stage, folder: Path, defect: str, figures: Figures) -> None:
        self.stage, self.folder, self.figures = stage, folder, figures
        self._module = "tests.campaigns.defects" if defect else "armbroker"
        self._environment = {**os.environ, VARIABLE: defect} if defect else dict(os.environ)
        self._epoch = 0

    async def run(self, number: int) -> None:
        """One drill: the service runs before it and after it."""
        stage, expect = self.stage, self.figures.expect
        copy = self.folder / f"copy-{number}"
        async with stage.load():
            await self._absent()
            await self._waiting()
            await asyncio.sleep(stage.dice.uniform(0.1, 0.6))  # the moment of the backup
            code, said = await self._command("backup", copy)
            expect(code == 0, f"backup: exit code {code}: {said}")
            for _ in range(stage.dice.randint(1, 3)):
                await asyncio.sleep(stage.dice.uniform(0.1, 0.5))  # what the backup does not know
                stage.kill()
                stage.start()
                self._epoch = await stage.online(self._epoch + 1)
        await stage.rest()
        code, said = await self._command("restore", copy)
        expect(code == 4, f"restore of a served store: exit code {code}: {said}")
        expect(await stage.process.stop() == 0, "the service did not end cleanly")
        sent = stage.taken()
        code, said = await self._command("restore", copy)
        expect(code == 0, f"restore: exit code {code}: {said}")
        epoch = await self._started()
        expect(epoch > self._epoch, f"restored in epoch {epoch}, after {self._epoch}")
        self._epoch = epoch
        await self._look(sent)
        self.figures.trials += 1

    async def start(self) -> None:
        """The first start."""
        self.stage.start()
        self._epoch = await self.stage.online(1)

    async def _started(self) -> int:
        """Start the service on what was restored; its epoch, whatever it is."""
        starts = {told.document["start"] for told in self.stage.monitor.told if told.topic == "svc/main"}
        self.stage.start()

        def wanted(told: Told) -> bool:
            document = told.document if told.topic == "svc/main" else {}
            return document.get("state") == "online" and document["start"] not in starts

        async with asyncio.timeout(self.stage.rest_s), self.stage.serving():
            told = await self.stage.monitor.until(wanted)
        return int(told.document["epoch"])

    async def _command(self, name: str, copy: Path) -> tuple[int, str]:
        arguments = [sys.executable, "-m", self._module, name, str(copy), "--config", str(self.stage.process.config)]
        process = await asyncio.create_subprocess_exec(
            *arguments,
            cwd=ROOT,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
        return await process.wait(), said.decode()

    async def _absent(self) -> None:
        reply = await self.stage.monitor.call(OFFLINE, "SimFault", {"fault": "offline", "for_ms": 3_000})
        self.figures.expect(reply["ok"], f"SimFault: {reply}")

    async def _waiting(self) -> None:
        """A change waits for the absent arm."""
        value = self.stage.value(OFFLINE, "CARTESIAN_JOYSTICK")
        params = {"control_mode": "CARTESIAN_JOYSTICK", ITEM: value}
        await self.stage.monitor.call(OFFLINE, "SetTwistLinearSoftLimit", params)

    async def _look(self, sent: list[Taken]) -> None:
        """Right after the restore: nothing was sent, what is different is told, what waited is held; then discarded."""
        stage, expect = self.stage, self.figures.expect
        holds = {taken.place: taken.number for taken in sent}
        for arm in stage.arms:
            config = await self._document(arm, "config")
            await self._document(arm, "reported")
            states = {one["state"] for one in config["pending"]}
            expect(states <= {"held"}, f"{arm}: after the restore changes are {states}")
            self.figures.count("held after a restore", len(config["pending"]))
            mine = {mode: number for (place, mode), number in holds.items() if place == arm}
            for text in await self._untold_at_last(arm, mine):
                expect(condition=False, text=text)
            reply = await stage.monitor.call(arm, "DiscardPending", {"all": True})
            expect(reply["ok"], f"DiscardPending: {reply}")
        expect(stage.taken() == sent, f"after the restore {stage.taken()[len(sent) :][:3]} was sent to the arms")

    async def _untold_at_last(self, arm: str, holds: dict[str, float]) -> list[str]:
        """What is still told wrongly after a while: the documents of an arm come one after the other."""
        until_s = asyncio.get_running_loop().time() + self.stage.rest_s / 6
        while (wrong := self._untold(arm, holds)) and asyncio.get_running_loop().time() < until_s:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        return wrong

    def _untold(self, arm: str, holds: dict[str, float]) -> list[str]:
        """What the last documents of an arm tell wrongly: what it holds by mode, and whether that differs."""
        config, reported = self._last(arm, "config"), self._last(arm, "reported")
        found, told = [], 0
        for mode, number in holds.items():
            shown, wished = reported["items"][ITEM].get(mode), config["items"][ITEM].get(mode)
            differs = f"{ITEM}/{mode}" in config["differs"]
            told += differs
            if shown != number:
                found.append(f"{arm} {mode}: {shown} is shown, the arm has {number}")
            if differs is not (wished != shown):
                found.append(f"{arm} {mode}: {wished} and {shown}, differs says {differs}")
        if not found:
            self.figures.count("differences told", told)
        return found

    def _last(self, arm: str, name: str) -> Document:
        topic = f"state/{arm}/{name}"
        return next(told.document for told in reversed(self.stage.monitor.told) if told.topic == topic)

    async def _document(self, arm: str, name: str) -> Document:
        """The last document; after an event of this epoch one that tells it."""
        head = (await self._events(arm, 0, 1))["head_seq"]
        events = (await self._events(arm, head - 1, 1))["events"]
        topic = f"state/{arm}/{name}"
        if events and events[0]["epoch"] == self._epoch:
            async with asyncio.timeout(self.stage.rest_s):
                await self.stage.monitor.until(
                    lambda told: (
                        told.topic == topic and told.document["epoch"] == self._epoch and told.document["seq"] >= head
                    )
                )
        return self._last(arm, name)

    async def _events(self, arm: str, after_seq: int, limit: int) -> Document:
        params = {"after_seq": after_seq, "limit": limit}
        page: Document = (await self.stage.monitor.call(arm, "GetEvents", params))["result"]
        return page

    async def judge(self) -> None:
        """In the end: no pair was told with two contents, and what is kept of this epoch was told."""
        stage, expect = self.stage, self.figures.expect
        told: dict[tuple[str, int, int], Document] = {}
        for message in stage.monitor.told:
            if message.topic.startswith("evt/"):
                event = message.document
                before = told.setdefault((event["arm"], event["epoch"], event["seq"]), event)
                expect(
                    before == event, f"{event['arm']} ({event['epoch']}, {event['seq']}) was told twice, differently"
                )
        for arm in stage.arms:
            after, more = 0, True
            while more:
                page = await self._events(arm, after, PAGE)
                more = page["more"]
                for event in page["events"]:
                    after = event["seq"]
                    known = told.get((arm, event["epoch"], event["seq"]))
                    expect(known == event, f"{arm} ({event['epoch']}, {event['seq']}) is kept and was not told so")
        last: dict[str, tuple[int, int]] = {}
        for (arm, _), number, pair in stage.taken():
            expect(pair > last.get(arm, (0, 0)), f"{arm}: {number} under {pair} after {last.get(arm)}")
            last[arm] = pair
        expect("Traceback" not in stage.process.log, "a traceback in the log")
        self.figures.count("events told", len(told))
        self.figures.count("epochs", len({epoch for _, epoch, _ in told}))


async def _some(folder: Path, seed: float, trials: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect)
    async with stage.open():
        drill = Drill(stage, folder, defect, figures)
        await drill.start()
        for number in range(trials):
            await drill.run(number)
        async with stage.load():
            await asyncio.sleep(1.0)  # life goes on
        await drill.judge()
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many drills; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        some = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, some, defect, figures), figures)
    return figures
