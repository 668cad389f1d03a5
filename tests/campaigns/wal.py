"""Kills the service and then takes something away from its store: what is lost is told, or nothing is.

Each trial starts the service on what was left. Either it does not serve, and says what is missing, or it knows every
request that was answered.
"""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.campaigns.defects import VARIABLE
from tests.campaigns.figures import Figures, play
from tests.campaigns.people import Asked
from tests.campaigns.places import folders
from tests.campaigns.stage import PATIENCE_S, Stage

TOGETHER = 27
"""So many trials begin with one kill."""
ASKED_AGAIN = 40
"""So many of the requests that were answered last are asked again of a service that serves."""
STORE, LOG, ANCHOR = "store.sqlite3", "store.sqlite3-wal", "store.anchor"
HEAD, FRAME = 32, 4096 + 24
"""Bytes of the head of a write-ahead log, and of each page in it."""
REFUSED = 1


def _log_removed(data: Path, older: Path, dice: Random) -> None:
    del older, dice
    (data / LOG).unlink()


def _used(log: Path) -> int:
    """How much of a log counts: behind that lie frames of an earlier round, with other salts."""
    content = log.read_bytes()
    salts, end = content[16:24], HEAD
    while content[end + 8 : end + 16] == salts:
        end += FRAME
    return min(end, len(content))


def _log_cut(data: Path, older: Path, dice: Random) -> None:
    del older
    os.truncate(data / LOG, dice.randrange(_used(data / LOG)))


def _last_frame_cut(data: Path, older: Path, dice: Random) -> None:
    del older
    os.truncate(data / LOG, max(HEAD, _used(data / LOG) - FRAME * dice.randint(1, 3) + dice.choice((0, 100))))


def _older_file(data: Path, older: Path, dice: Random) -> None:
    del dice
    (data / LOG).unlink()
    shutil.copy(older / STORE, data / STORE)


def _older_file_with_the_log(data: Path, older: Path, dice: Random) -> None:
    del dice
    shutil.copy(older / STORE, data / STORE)


def _older_file_and_anchor(data: Path, older: Path, dice: Random) -> None:
    _older_file(data, older, dice)
    shutil.copy(older / ANCHOR, data / ANCHOR)


def _anchor_removed(data: Path, older: Path, dice: Random) -> None:
    del older, dice
    (data / ANCHOR).unlink()


def _anchor_damaged(data: Path, older: Path, dice: Random) -> None:
    del older
    content = bytearray((data / ANCHOR).read_bytes())
    for slot in (0, len(content) // 2):
        content[slot + dice.randrange(130)] ^= 1 << dice.randrange(8)
    (data / ANCHOR).write_bytes(content)


def _store_removed(data: Path, older: Path, dice: Random) -> None:
    del older, dice
    for name in (STORE, LOG, f"{STORE}-shm"):
        (data / name).unlink(missing_ok=True)


HARMS: dict[str, Callable[[Path, Path, Random], None]] = {
    "log removed": _log_removed,
    "log cut": _log_cut,
    "last frames cut": _last_frame_cut,
    "older file": _older_file,
    "older file, log kept": _older_file_with_the_log,
    "older file and anchor": _older_file_and_anchor,
    "anchor removed": _anchor_removed,
    "anchor damaged": _anchor_damaged,
    "store removed": _store_removed,
}


async def _some(folder: Path, seed: float, trials: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect)
    data, older, killed = stage.process.data, folder / "older", folder / "killed"
    async with stage.open():
        await _lived(stage, 1)
        await stage.process.stop()
        shutil.copytree(data, older)
        before = len(stage.asked)
        await _lived(stage, 2)
        stage.kill()
        shutil.copytree(data, killed)
        answered = [asked for asked in list(stage.asked.values())[before:] if _final(asked)][-ASKED_AGAIN:]
        figures.expect(answered, "nobody was answered before the kill")
        names = list(HARMS)
        for number in range(trials):
            name = names[number % len(names)]
            shutil.rmtree(data)
            shutil.copytree(killed, data)
            HARMS[name](data, older, stage.dice)
            figures.trials += 1
            await _judge(stage, name, answered, defect, figures)
            stage.kill()


async def _lived(stage: Stage, epoch: int) -> None:
    """A part of a service's life, with more answers than are asked for again."""
    stage.start()
    await stage.online(epoch)
    async with stage.load(0.01):
        await stage.answered(2 * ASKED_AGAIN)


def _final(asked: Asked) -> bool:
    return any(reply["final"] for reply in asked.replies)


async def _judge(stage: Stage, name: str, answered: list[Asked], defect: str, figures: Figures) -> None:
    """Start the service on what is left; it tells what is lost, or knows everybody."""
    told_before = len(stage.process.log)
    stage.process.start(environment={VARIABLE: defect} if defect else {})
    ended = asyncio.create_task(stage.process.exit_code())
    serves = asyncio.create_task(stage.monitor.call(stage.arms[0], "GetControlMode", {}))
    await asyncio.wait({ended, serves}, return_when=asyncio.FIRST_COMPLETED)
    if ended.done():
        serves.cancel()
        said = stage.process.log[told_before:]
        figures.count(f"told: {name}")
        named = "HistoryLostError" in said or "StoreBrokenError" in said
        figures.expect(ended.result() == REFUSED and named, f"{name}: exit code {ended.result()}: {said[-300:]}")
        return
    figures.count(f"served: {name}")
    people = {person.user: person for person in stage.users}
    for asked in answered:
        first = next(reply for reply in asked.replies if reply["final"])
        again = await people[asked.full_id.partition("/")[0]].ask(asked, PATIENCE_S)
        same = again.get("duplicate") and all(again[field] == first[field] for field in ("ok", "stage", "rev", "seq"))
        figures.expect(same, f"{name}: {asked.full_id} is lost, and nothing was told")
    ended.cancel()


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many starts on what was left; see `CAMPAIGNS`."""
    figures = Figures()
    for number, folder in folders(-(-trials // TOGETHER)):
        some = min(TOGETHER, trials - number * TOGETHER)
        play(_some(folder, seed * 1000 + number, some, defect, figures), figures)
    return figures
