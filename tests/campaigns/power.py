"""Cuts the power of a service: from the log of what it wrote and synced, the files that may be left at any moment.

Whatever was told before the cut has to be there when the store is opened again, and nothing may be damaged.
"""

import asyncio
import json
import tempfile
import traceback
from pathlib import Path
from typing import Any

from broker.store.errors import StoreError
from broker.store.rows import Damage
from broker.store.store import FILE, Store
from tests.campaigns.defects import VARIABLE
from tests.campaigns.figures import Figures
from tests.campaigns.people import dice_of
from tests.campaigns.places import folders
from tests.campaigns.powerlog import CALLS, LONGEST, Disk, Told, steps
from tests.campaigns.stage import Stage

ANSWERED = 120
"""So much load is recorded, in requests that were answered."""
TOGETHER = 500
"""So many cuts of one recorded run."""
NOW_US = 1_900_000_000_000_000
_PLAIN = ("u0", "u3")
"""Users whose replies are JSON."""


async def _record(folder: Path, seed: float, defect: str) -> Path:
    """A run under load, with its log."""
    stage = Stage(folder, seed)
    stage.process._module = "tests.campaigns.recorded"
    log = folder / "calls"
    trace = ["strace", "-f", "-y", "-xx", "-qqq", "-s", str(LONGEST), "-o", str(log), "-e", f"trace={CALLS}"]
    async with stage.open():
        stage.process.start(prefix=trace, environment={VARIABLE: defect} if defect else {})
        await stage.online(1)
        async with stage.load():
            await stage.answered(ANSWERED)
        stage.kill()
    return log


class _Cuts:
    """Cuts of one recorded run."""

    def __init__(self, log: Path, data: Path, seed: float, figures: Figures) -> None:
        self._steps = steps(log, data)
        self._dice = dice_of(seed)
        self._figures = figures

    def run(self, trials: int) -> None:
        """So many cuts, each at a moment of its own."""
        moments = sorted(self._dice.randrange(len(self._steps)) for _ in range(trials))
        disk, told, done = Disk(), Told(), 0
        for moment in moments:
            for step in self._steps[done:moment]:
                if step.call == "told":
                    told.take(step.data)
                else:
                    disk.take(step)
            done = moment
            with tempfile.TemporaryDirectory(prefix="armbroker-power-", dir="/dev/shm") as room:
                lost = disk.cut(self._dice, Path(room))
                self._figures.count("writes lost or torn", lost)
                self._judge(Path(room), told, f"cut at step {moment}")
            self._figures.trials += 1
        self._figures.count("steps recorded", len(self._steps))
        self._figures.count("pages copied", sum(step[:2] == ("write", FILE) for step in self._steps))
        self._figures.count("replies told", len(told.replies))

    def _judge(self, directory: Path, told: Told, where: str) -> None:
        try:
            store = Store.open(directory, lambda: NOW_US)
        except StoreError as error:
            self._figures.expect(condition=False, text=f"{where}: {error}")
            return
        except Exception:  # noqa: BLE001 - whatever it is, it is wrong
            self._figures.expect(condition=False, text=f"{where}: {traceback.format_exc(limit=-3)}")
            return
        try:
            damages: list[Damage] = []
            store.on_damage = damages.append
            damages += store.load().damages
            for (user, conn, request_id), reply in told.replies.items():
                if user in _PLAIN:
                    self._judge_reply(store, (user, conn, request_id), reply, where)
            for arm, seq in told.events.items():
                page = store.events(arm, 0, 100_000, 1 << 40)
                self._figures.expect(page.head_seq >= seq and not page.missing, f"{where}: {arm} lost event {seq}")
            self._figures.expect(not damages, f"{where}: {damages[:3]}")
        finally:
            store.close(clean=False)

    def _judge_reply(self, store: Store, key: tuple[str, str, str], reply: dict[str, Any], where: str) -> None:
        if reply["stage"] not in ("stored", "applied", "refused") or "duplicate" in reply:
            return
        row = store.find(*key)
        if row is None:
            self._figures.expect(condition=False, text=f"{where}: {key} was answered {reply['stage']} and is lost")
        elif reply["final"]:
            kept = json.loads(row.outcome) if row.outcome else {}
            same = all(kept.get(name) == reply[name] for name in ("ok", "stage", "rev", "seq"))
            self._figures.expect(same, f"{where}: {key} was answered {reply}, kept is {kept}")


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many cuts; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        log = asyncio.run(_record(folder, seed * 1000 + number, defect))
        cuts = _Cuts(log, folder / "data", seed * 1000 + number, figures)
        cuts.run(min(TOGETHER, trials - number * TOGETHER))
    return figures
