#!/usr/bin/env python3
"""What a kill takes back that was acknowledged: of Mosquitto by itself, and of the service in front of its arms.

Mosquitto: a client with a persistent session is away, so many messages of QoS 1 are published for it and acknowledged,
the server is killed with SIGKILL and started again, the client comes back and counts what it gets. With `persistence
true` and the defaults of Mosquitto, with the configuration in deploy/, and with a save after each message.

armbroker: so many changes are answered, the service and a Mosquitto with the defaults are killed together and started
again, and each request is repeated: it must be known, with the outcome that it was answered with.

    bench/mosquitto_loss.py [--messages 1000] [--trials 5] [--seed 1]
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from tests.campaigns.people import Asked, Person  # noqa: E402 - the path first
from tests.campaigns.stage import PATIENCE_S, Stage  # noqa: E402 - likewise
from tests.mosquitto import OPEN_CONFIG, SHIPPED, Mosquitto  # noqa: E402 - likewise

GROUP = 10
LONGEST_S = 60.0
DEFAULTS = f"{OPEN_CONFIG}persistence true\npersistence_location {{folder}}/\n"


def configurations() -> dict[str, str]:
    """How the server keeps what it has."""
    shipped = (SHIPPED / "armbroker.conf").read_text().splitlines()
    saving = "".join(f"{line}\n" for line in shipped if line.startswith("autosave"))
    return {
        "its defaults (every 1,800 s)": DEFAULTS,
        f"deploy/ ({', '.join(saving.splitlines())})": f"{DEFAULTS}{saving}",
        "a save after each message": f"{DEFAULTS}autosave_on_changes true\nautosave_interval 1\n",
    }


def _client(port: int, name: str) -> aiomqtt.Client:
    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = 3600
    version = aiomqtt.ProtocolVersion.V5
    return aiomqtt.Client(
        "127.0.0.1", port, identifier=name, protocol=version, clean_start=False, properties=properties
    )


async def redelivered(folder: Path, config: str, messages: int) -> tuple[int, float]:
    """How many of the acknowledged messages come after the kill, and how long their publication took in s."""
    server = Mosquitto(folder, config).start()
    try:
        async with _client(server.port, "reader") as reader:
            await reader.subscribe("loss/#", qos=1)
        began = time.monotonic()
        async with _client(server.port, "writer") as writer:
            for first in range(0, messages, GROUP):
                some = range(first, min(first + GROUP, messages))
                await asyncio.gather(*(writer.publish("loss/message", str(each), qos=1) for each in some))
        seconds = time.monotonic() - began
        server.stop(signal.SIGKILL)
        server.start()
        seen = set()
        async with asyncio.timeout(LONGEST_S), _client(server.port, "reader") as reader:
            await reader.subscribe("loss/#", qos=1)
            await reader.publish("loss/end", "", qos=1)
            async for message in reader.messages:
                if message.topic.value == "loss/end":
                    break
                seen.add(message.payload)
        return len(seen), seconds
    finally:
        server.stop()


async def known(folder: Path, seed: int, changes: int) -> tuple[int, int, float]:
    """How many requests were answered, how many of them are known after the kill, and how long they took in s."""
    stage = Stage(folder, seed, config=DEFAULTS)
    async with stage.open():
        stage.start()
        await stage.online(1)
        answered: list[tuple[Person, Asked]] = []

        async def work(person: Person, number: int) -> None:
            for _ in range(number):
                asked = stage.next_request(person)
                await person.ask(asked, PATIENCE_S)
                answered.append((person, asked))

        began = time.monotonic()
        await asyncio.gather(*(work(person, changes // len(stage.users)) for person in stage.users))
        seconds = time.monotonic() - began
        stage.kill()
        stage.server.stop(signal.SIGKILL)
        stage.server.start()
        stage.start()
        await stage.online(2)
        same = 0
        for person, asked in answered:
            before = asked.replies[0]
            again = await person.ask(asked, PATIENCE_S)
            outcome = all(again[name] == before[name] for name in ("ok", "stage", "rev", "seq"))
            same += bool(again.get("duplicate") and outcome)
        return len(answered), same, seconds


def main() -> int:
    """Read the command line and run; exit code 1 when the service does not know a request that it answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    for name, config in configurations().items():
        came, took = 0, 0.0
        for _ in range(chosen.trials):
            with tempfile.TemporaryDirectory() as folder:
                some, seconds = asyncio.run(redelivered(Path(folder), config, chosen.messages))
            came, took = came + some, took + seconds
        _show(f"Mosquitto, {name}", chosen.trials * chosen.messages, came, took)
    answered, same, took = 0, 0, 0.0
    for number in range(chosen.trials):
        with tempfile.TemporaryDirectory() as folder:
            asked, some, seconds = asyncio.run(known(Path(folder), chosen.seed * 1000 + number, chosen.messages))
        answered, same, took = answered + asked, same + some, took + seconds
    _show("armbroker, both killed", answered, same, took)
    return int(same != answered)


def _show(what: str, acknowledged: int, there: int, seconds: float) -> None:
    lost = acknowledged - there
    print(f"{what:70} {acknowledged:6,} acknowledged in {seconds:5.1f} s, {lost:6,} lost ({lost / acknowledged:.1%})")


if __name__ == "__main__":
    sys.exit(main())
