"""Sets the machine's clock wrong under load, and right again, in half of the trials with a kill while it is wrong.

Once the clock is right again every request with a right `issued_at` is taken, the times of events go on in order, what
is told of the clock is true, and nothing was deleted: the service purges every half second meanwhile.
"""

import asyncio
import datetime as dt
import sys
from pathlib import Path

from tests.campaigns.checker import Checker
from tests.campaigns.clock_service import CLOCK
from tests.campaigns.defects import VARIABLE
from tests.campaigns.figures import Figures, play
from tests.campaigns.people import Asked, Document
from tests.campaigns.places import folders
from tests.campaigns.stage import ITEM, METHOD, PATIENCE_S, Stage
from tests.mosquitto import ROOT

TOGETHER = 10
SECOND_US, HOUR_US, YEAR_US = 1_000_000, 3_600_000_000, 365 * 86_400_000_000
JUMPS_US = (10 * YEAR_US, -HOUR_US, HOUR_US, -5 * SECOND_US, -10 * YEAR_US)
AHEAD_US = 60 * SECOND_US
"""Less than a jump, more than a busy machine needs."""
TOLD_S = 60.0
"""After so long, at the latest, `svc/<instance>` has told of the clock: it is told anew every 10 s."""


class Plant:
    """A stage whose service runs on a machine with a clock of its own."""

    def __init__(self, folder: Path, seed: float, defect: str, figures: Figures) -> None:
        self.figures = figures
        self.stage = Stage(folder, seed, defect=defect, module="tests.campaigns.clock_service")
        self._clock = folder / "clock"
        self._environment = {CLOCK: str(self._clock)} | ({VARIABLE: defect} if defect else {})
        self._epoch = 0
        self.set_clock(0)

    def set_clock(self, wrong_by_us: int) -> None:
        """Let the machine's clock be wrong by so much; the file is mapped by the service, so it is written in place."""
        with self._clock.open("r+b" if self._clock.exists() else "wb") as file:
            file.write(wrong_by_us.to_bytes(8, "little", signed=True))

    async def start(self) -> None:
        """Start the service."""
        self.stage.taken()
        self.stage.process.start(environment=self._environment)
        self._epoch = await self.stage.online(self._epoch + 1)

    async def trial(self, jump_us: int, *, killed: bool) -> None:
        """A jump, and back."""
        stage, dice = self.stage, self.stage.dice
        async with stage.load():
            await asyncio.sleep(dice.uniform(0.1, 0.4))  # the moment of the jump
            self.set_clock(jump_us)
            await asyncio.sleep(dice.uniform(0.6, 1.0))  # with at least one purge
            if killed:
                stage.kill()
                await self.start()
                await asyncio.sleep(0.7)  # likewise
            self.set_clock(0)
            await asyncio.sleep(dice.uniform(0.1, 0.7))  # likewise
        await self.ask_in_time()
        self.figures.trials += 1

    async def ask_in_time(self) -> None:
        """Requests whose client has the right time are taken: a limit and a mode of each arm."""
        stage = self.stage
        person = stage.users[0]  # speaks JSON
        for arm in stage.arms:
            params = {"control_mode": "CARTESIAN_JOYSTICK", ITEM: stage.value(arm, "CARTESIAN_JOYSTICK")}
            asked = self._timed(person.user, person.new_id(), arm, METHOD, params)
            stage.asked[asked.full_id] = asked
            reply = await person.ask(asked, PATIENCE_S)
            self.figures.expect(reply["ok"], f"a request with a right issued_at: {reply.get('error')}")
            mode = "ANGULAR_JOYSTICK" if self.figures.trials % 2 else "CARTESIAN_JOYSTICK"
            asked = self._timed(person.user, person.new_id(), arm, "SetControlMode", {"control_mode": mode})
            reply = await person.ask(asked, PATIENCE_S)
            self.figures.expect(reply["ok"], f"SetControlMode with a right issued_at: {reply.get('error')}")
            self.figures.count("requests with a right issued_at", 2)

    def _timed(self, user: str, request_id: str, arm: str, method: str, params: Document) -> Asked:
        now = dt.datetime.now(dt.UTC).isoformat()
        fields = {"params": params, "issued_at": now, "ttl_ms": 120_000}
        return Asked(f"{user}/{user}-1/{request_id}", arm, method, fields, [])

    async def set_right(self) -> None:
        """What a wrong clock wrote into the store is taken back, where it did."""
        if not await self._is_behind():
            return
        self.figures.expect(await self.stage.process.stop() == 0, "the service did not end cleanly")
        command = (sys.executable, "-m", "armbroker", "store", "set-time", str(self.stage.process.data))
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await process.communicate()
        self.figures.expect(await process.wait() == 0, f"set-time: {said.decode()}")
        self.figures.count("times set right")
        await self.start()
        self.figures.expect(not await self._is_behind(), "after set-time the clock is still behind")

    async def _is_behind(self) -> bool:
        """Whether the service says that the machine's clock is behind, by more than a jump that heals."""
        reply = await self.stage.monitor.call(self.stage.arms[0], "WhoAmI", {})
        ahead = dt.datetime.fromisoformat(reply["result"]["at"]) - dt.datetime.now(dt.UTC)
        behind = ahead > dt.timedelta(microseconds=AHEAD_US)
        if behind:
            async with asyncio.timeout(TOLD_S):
                await self.stage.monitor.until(
                    lambda told: (
                        told.topic == "svc/main"
                        and told.document["epoch"] == self._epoch
                        and told.document["clock"]["state"] == "behind"
                    )
                )
            self.figures.count("clocks that were told to be behind")
        return behind

    async def judge(self) -> None:
        """Everything that has to hold of any stage, and times in order."""
        await self.stage.rest()
        await Checker(self.stage, self.figures).judge()
        times: dict[tuple[str, int], list[tuple[int, str]]] = {}
        for message in self.stage.monitor.told:
            if message.topic.startswith("evt/"):
                event = message.document
                times.setdefault((event["arm"], event["epoch"]), []).append((event["seq"], event["at"]))
        for (arm, epoch), told in times.items():
            ats = [at for _, at in sorted(set(told))]
            self.figures.expect(ats == sorted(ats), f"{arm}: in epoch {epoch} times run backwards")


async def _some(folder: Path, seed: float, first: int, trials: int, defect: str, figures: Figures) -> None:
    plant = Plant(folder, seed, defect, figures)
    async with plant.stage.open():
        await plant.start()
        for number in range(first, first + trials):
            await plant.trial(JUMPS_US[number % len(JUMPS_US)], killed=number % 2 == 1)
            if not defect:
                await plant.set_right()
        await plant.judge()


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many jumps; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        some = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, number * (TOGETHER + 1), some, defect, figures), figures)
    return figures
