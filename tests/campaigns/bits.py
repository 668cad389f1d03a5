"""Flips single bits of the files of a store that a service has filled, and compares all that it gives with the truth.

Most trials open the flipped store alone, in a process of their own, with what the service reads of it; some start the
whole service on it, with an arm that drifted and gets back what is desired.
"""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from broker.store.store import FILE
from devices.simulated.store import JOURNAL
from tests.campaigns.defects import VARIABLE
from tests.campaigns.figures import Figures
from tests.campaigns.people import Asked, dice_of
from tests.campaigns.places import folders
from tests.campaigns.stage import ITEM, METHOD, Stage
from tests.mosquitto import ROOT

ANSWERED = 150
"""So much load fills a store, in requests that were answered."""
TOGETHER = 250
"""So many flips of one store; one of them under a whole service."""
PATIENCE_S = 60.0
_MODE, _NUMBER = "CARTESIAN_JOYSTICK", 2
_DRIFTS = '[[arm]]\nid = "d1"\nmodel = "gen3_7dof"\ndrift = "reapply"\n'


async def _fill(folder: Path, seed: int) -> Path:
    """A store with something of everything: the directory of one that was ended, or killed: then rows are late."""
    stage = Stage(folder, seed)
    async with stage.open():
        stage.start()
        await stage.online(1)
        async with stage.load():
            await stage.answered(ANSWERED)
        await stage.rest()
        user = stage.users[0]
        await user.call("r1", "HoldArm", {"reason": "work"})
        await user.call("r3", "SetAuthority", {"authority": "observe"})
        await user.call("r2", "ControlConfigurationTopic", {})
        for mass in (1.0, 2.0):
            items = {"payload_information": {"payload_mass": mass}}
            await user.call("@all", "PutRecipe", {"name": "weld", "items": items})
        await user.call("r1", "ApplyRecipe", {"recipe": "weld", "version": 1})
        await user.call("@all", "DeleteRecipe", {"name": "weld"})
        await user.call("@all", "PutRecipe", {"name": "glue", "items": {"gravity_vector": {"z": -9.81}}})
        for number in (0.2, 0.1):
            fields = {"params": {"control_mode": _MODE, ITEM: number}, "valid_for_ms": 86_400_000}
            await user.ask(Asked(f"{user.user}/{user.conn}/{user.new_id()}", "r1", METHOD, fields, []), PATIENCE_S)
        await user.call("r2", "SimFault", {"fault": "offline"})
        await stage.monitor.until(
            lambda told: told.topic == "state/r2/presence" and told.document["state"] == "offline"
        )
        await user.call("r2", METHOD, {"control_mode": _MODE, ITEM: 0.3})
        if seed % 2:
            stage.kill()
        else:
            await stage.process.stop()
    with closing(sqlite3.connect(stage.process.data / FILE)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        (late,) = connection.execute("SELECT count(*) FROM late").fetchone()
    if bool(late) != bool(seed % 2):
        raise RuntimeError(f"{late} rows are late")
    return stage.process.data


def _flips(store: Path, seed: int, trials: int, defect: str) -> Figures:
    """Trials on the store alone."""
    command = [sys.executable, "-m", "tests.campaigns.flips", str(store), str(seed), str(trials)]
    environment = {**os.environ, VARIABLE: defect}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    document = json.loads(done.stdout)
    return Figures(document["trials"], document["wrong"], document["numbers"])


class _Served:
    """One flip in what is desired of an arm, under a whole service."""

    def __init__(self, folder: Path, seed: float, defect: str, figures: Figures) -> None:
        self._stage = Stage(folder, seed, arms=2, users=1, defect=defect, more="")
        config = self._stage.process.config
        config.write_text(config.read_text() + _DRIFTS)
        self._dice = dice_of(seed)
        self._figures = figures

    async def run(self) -> None:
        """Change, end, let the arm drift, flip, start, look."""
        stage = self._stage
        async with stage.open():
            stage.start()
            await stage.online(1)
            for arm in ("d1", "r2"):
                await stage.users[0].call(arm, METHOD, {"control_mode": _MODE, ITEM: 0.25})
            await stage.process.stop()
            self._flip()
            before = self._commands()
            stage.start()
            if await self._begins():
                await self._look()
            await stage.process.stop()
            self._figures.expect(self._commands() == before, "a command was sent to an arm whose row is damaged")
            self._figures.expect("Traceback" not in stage.process.log, "a traceback in the log")
        self._figures.count("whole services")

    def _flip(self) -> None:
        """One bit of the number that is desired, so that it stays one if it can."""
        file = self._stage.process.data / FILE
        with closing(sqlite3.connect(file)) as connection:
            query = "SELECT desired FROM item WHERE arm = 'd1' AND key = ? AND mode = ?"
            (desired,) = connection.execute(query, (ITEM, _NUMBER)).fetchone()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        content = bytearray(file.read_bytes())
        key = ITEM.encode()
        places = [at for at in range(len(content)) if content.startswith(desired, at)]
        mine = [at for at in places if key in content[at - 40 : at] and b"d1" in content[at - 45 : at]]
        at = self._dice.choice(mine) + desired.index(b"0.25") + 2
        content[at] ^= 1 << self._dice.randrange(3)
        file.write_bytes(content)

    async def _begins(self) -> bool:
        """Whether the service takes requests; False if it refuses the store."""
        online, ended = (
            asyncio.create_task(self._stage.online(2)),
            asyncio.create_task(self._stage.process.exit_code()),
        )
        done, waiting = await asyncio.wait({online, ended}, return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE_S)
        for task in waiting:
            task.cancel()
        return online in done and online.exception() is None

    async def _look(self) -> None:
        stage, figures = self._stage, self._figures
        ask = {"control_mode": _MODE}
        other = await stage.users[0].call("r2", "GetKinematicSoftLimits", ask)
        figures.expect(other["ok"] and other["result"]["twist_linear"] == 0.25, f"r2 is not served: {other}")
        foreign: dict[str, Any] = {"fault": "foreign_change", "item": ITEM, "slot": _MODE, "value": 0.45}
        await stage.users[0].call("d1", "SimFault", foreign)
        read = await stage.users[0].call("d1", "GetKinematicSoftLimits", ask)
        figures.expect(not read["ok"] and read["error"]["kind"] == "held", f"d1 is served: {read}")
        desired = await stage.users[0].call("d1", METHOD, {**ask, ITEM: 0.2})
        figures.expect(not desired["ok"], f"d1 takes a change: {desired}")

    def _commands(self) -> int:
        """How many commands all arms carried out."""
        journal = self._stage.process.data / "adapters" / "simulated" / JOURNAL
        entries = [json.loads(line) for line in journal.read_bytes().splitlines()]
        return sum(1 for entry in entries if entry[4] is not None)


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many flips; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        flips = min(TOGETHER, trials - number * TOGETHER) - 1
        (folder / "filled").mkdir()
        (folder / "served").mkdir()
        store = asyncio.run(_fill(folder / "filled", seed * 1000 + number))
        figures.add(_flips(store, seed * 1000 + number, flips, defect))
        shutil.rmtree(folder / "filled")
        asyncio.run(_Served(folder / "served", seed * 1000 + number, defect, figures).run())
        figures.trials += 1
    return figures
