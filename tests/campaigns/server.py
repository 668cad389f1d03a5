"""Takes the memory of the MQTT server: killed, wiped, or put back to what it had saved seconds before.

Nothing may be lost for ever by that: each request has one end, each event can be fetched, and 60 s later at the latest
what is retained tells what the arms are.
"""

import asyncio
import contextlib
import json
import signal
import time
from pathlib import Path
from typing import Any

import aiomqtt

from tests.campaigns.checker import Checker
from tests.campaigns.figures import Figures, play
from tests.campaigns.places import folders
from tests.campaigns.stage import Stage
from tests.mosquitto import OPEN_CONFIG, SHIPPED, Mosquitto

TOGETHER = 12
"""So many losses meet one service, then everything is judged."""
KINDS = ("stale", "killed", "stale", "wiped")
MENDED_S, MENDED_SOON_S = 60.0, 15.0
"""How old what is retained may be after a loss; the second is what is waited for where it is not expected."""
SLOW_S = 60.0
"""So much more may a machine need that does something else, too."""
DOCUMENTS = ("config", "reported", "mode", "effective", "presence")
NEWER = ("at", "epoch", "rev", "seq", "read_at", "mode_seen_at", "since")
"""What may be newer in a document that was mended."""
_LAST = "looked"
"""The topic of a message to oneself; it has nothing to do with any service."""
Retained = dict[str, dict[str, Any]]


def config_of(number: int) -> str:
    """A server that keeps what it has: saved each second, or as the shipped configuration says."""
    saving = "autosave_on_changes false\nautosave_interval 1\n"
    if number % 2:
        lines = (SHIPPED / "armbroker.conf").read_text().splitlines()
        saving = "".join(f"{line}\n" for line in lines if line.startswith("autosave"))
    return f"{OPEN_CONFIG}persistence true\npersistence_location {{folder}}/\n{saving}"


async def read_retained(port: int, root: str) -> Retained:
    """What a client that comes now is told of the arms, by topic: what comes before its own message after that."""
    found: Retained = {}
    with contextlib.suppress(TimeoutError, aiomqtt.MqttError):
        async with asyncio.timeout(SLOW_S), aiomqtt.Client("127.0.0.1", port) as client:
            await client.subscribe([(f"{root}/state/+/+", 1), (f"{root}/meta/factsheet/+", 1), (_LAST, 1)])
            await client.publish(_LAST, qos=1)
            async for message in client.messages:
                if message.topic.value == _LAST:
                    break
                of_arms = "/@" not in message.topic.value
                if message.retain and of_arms and isinstance(message.payload, bytes):
                    found[message.topic.value] = json.loads(message.payload)
    return found


def said(document: dict[str, Any]) -> dict[str, Any]:
    """A document without what may be newer."""
    kept = {key: value for key, value in document.items() if key not in NEWER}
    if isinstance(kept.get("sources"), list):
        kept["sources"] = [{**one, "since": ""} for one in kept["sources"]]
    return kept


def stale(found: Retained, right: Retained) -> list[str]:
    """The documents that are missing, say something else, or are older than they were."""
    return [
        topic
        for topic, document in right.items()
        if topic not in found
        or said(found[topic]) != said(document)
        or found[topic].get("seq", 0) < (document.get("seq", 0) if topic.endswith(("config", "reported")) else 0)
    ]


async def _lose(server: Mosquitto, kind: str, snapshot: bytes) -> None:
    """Kill the server, and start it with what it has left."""
    server.stop(signal.SIGKILL)
    database = server.folder / "mosquitto.db"
    if kind == "wiped":
        database.unlink(missing_ok=True)
    elif kind == "stale":
        database.write_bytes(snapshot)
    await asyncio.to_thread(server.start)


async def _one(stage: Stage, kind: str, figures: Figures, most_s: float) -> None:
    """One loss at rest, some seconds after the save that is put back; every second time another one under load."""
    server, root = stage.server, stage.process.root
    snapshot = await asyncio.to_thread(server.save)
    async with stage.load():
        await asyncio.sleep(stage.dice.uniform(0.3, 1.0))  # what the snapshot does not know
        if stage.dice.random() < 0.5:
            await _lose(server, "killed", snapshot)
            figures.count("killed under load")
    await stage.rest()
    right = await _until_whole(stage)
    await _lose(server, kind, snapshot)
    figures.trials += 1
    figures.count(kind)
    began = time.monotonic()
    wrong = list(right)
    while wrong and time.monotonic() - began < most_s:
        wrong = stale(await read_retained(server.port, root), right)
        await asyncio.sleep(0.2)
    figures.expect(
        not wrong, f"{kind}: {len(wrong)} of {len(right)} documents are not right after {most_s:g} s: {wrong[:3]}"
    )
    slowest = figures.numbers.get("slowest mend, s", 0.0)
    figures.numbers["slowest mend, s"] = round(max(slowest, time.monotonic() - began), 1)


async def _until_whole(stage: Stage) -> Retained:
    """What is retained at rest: once every document is there, and two looks in a row show the same."""
    number = (len(DOCUMENTS) + 1) * len(stage.arms)
    before: Retained = {}
    async with asyncio.timeout(MENDED_S + SLOW_S):
        while True:
            found = await read_retained(stage.server.port, stage.process.root)
            if len(found) == number and found == before:
                return found
            before = found
            await asyncio.sleep(3.5)  # a document of limits may be so much later than what it is made of


async def _some(folder: Path, seed: float, kinds: list[str], number: int, defect: str, figures: Figures) -> None:
    stage = Stage(folder, seed, defect=defect, config=config_of(number))
    async with stage.open():
        stage.start()
        await stage.online(1)
        await _until_whole(stage)
        for kind in kinds:
            await _one(stage, kind, figures, MENDED_SOON_S if defect else MENDED_S + SLOW_S)
            if defect and figures.wrong:
                return
        await stage.rest()
        await Checker(stage, figures, forgetful=True).judge()
        figures.expect(await stage.process.stop() == 0, "the service did not end cleanly")


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """So many losses, half of them stale snapshots; see `CAMPAIGNS`."""
    figures = Figures()
    kinds = [KINDS[at % len(KINDS)] for at in range(trials)]
    for number, folder in folders(-(-trials // TOGETHER)):
        some = kinds[number * TOGETHER : (number + 1) * TOGETHER]
        play(_some(folder, seed * 1000 + number, some, number, defect, figures), figures)
    return figures
