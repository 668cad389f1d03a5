"""`armbroker top` in a real pseudo-terminal, fed by a real Mosquitto and a real service."""

import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from armbroker.cli.exits import Exit
from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto
from tests.terminal import DOWN, END, ESCAPE, Terminal

SET = "SetTwistLinearSoftLimit"
COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
ALTERNATE, BACK = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Mosquitto]:
    (tmp_path / "server").mkdir()
    one = Mosquitto(tmp_path / "server").start()
    yield one
    one.stop(signal.SIGKILL)


@pytest.fixture
def start_fleet(server: Mosquitto, tmp_path: Path) -> Iterator[Callable[[int], ServiceProcess]]:
    """A function that starts a service of so many arms."""
    started: list[ServiceProcess] = []

    def start(arms: int) -> ServiceProcess:
        names = [f"r{number:03d}" for number in range(arms)]
        started.append(ServiceProcess(server, tmp_path, "top", names).start())
        return started[-1]

    yield start
    for each in started:
        each.kill()


def command(server: Mosquitto) -> tuple[str, ...]:
    return (sys.executable, "-m", "armbroker", "top", "--mqtt", server.url, "--root", "top")


async def test_the_terminal_shows_what_happens(server: Mosquitto, start_fleet: Callable[[int], ServiceProcess]) -> None:
    service = start_fleet(60)
    async with Client(server.port, service.root, "ann", "ann") as ann, Terminal(command(server), 150, 60) as top:
        await ann.subscribe("svc/+", "req/#")
        await online(ann, 1)
        await top.shows("60 arms  60 online", "▶ r000", "● online", "Idle", "gen3_7dof")
        top.type(END)
        await top.shows("▶ r059")
        top.type("/")
        await top.shows("words that all have to be in the line")
        top.type("r001")
        await top.until(lambda screen: "r002" not in screen)
        top.type("\r")
        await top.shows("▶ r001")
        top.type("\r")
        await top.shows("limits in mode Idle", "velocity  deg/s", "80.00 / 80.00    hard")
        await ann.change(
            "r001", SET, {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}, reason="teaching"
        )
        await top.shows("Twist linear soft limit Cartesian joystick  0.5 → 0.25  applied · ann/ann? · teaching")
        top.type("mmm")  # idle has no limits of its own: the tightest, then the modes
        await top.shows("limits in mode Cartesian joystick", f"▕{'█' * 10}{' ' * 10}▏    0.250 / 0.500    soft")
        top.type("u")
        await top.shows("velocity  rad/s")
        top.type("v")
        await top.shows("[values]", "gravity vector z", "-9.81 m/s²")
        await ann.call("r001", "SimFault", {"fault": "offline"})
        await top.shows("○ offline", "1 offline")
        top.resize(90, 20)
        text = await top.until(lambda screen: "○ offline" in screen and screen.splitlines()[-1].startswith(" ⏎ detail"))
        assert max(map(len, text.splitlines())) <= 90
        top.type(ESCAPE)
        await top.shows("r002")
        top.type(ESCAPE)
        await top.until(lambda screen: "[values]" not in screen)
        top.type("q")
        assert await top.ended() == Exit.OK
        assert top.sent.count(ALTERNATE) == top.sent.count(BACK) == 1
        topics = [message.topic.split("/") for message in ann.inbox if message.topic.startswith("req/")]
        assert not [levels for levels in topics if levels[1] == "cli"], "it asks nothing"


async def test_a_lost_connection_is_shown(server: Mosquitto, start_fleet: Callable[[int], ServiceProcess]) -> None:
    service = start_fleet(2)
    async with Terminal(command(server)) as top:
        await top.shows("2 arms  2 online")
        service.kill()
        await top.shows("▲ service main is offline", "● online (old)")
        server.stop(signal.SIGKILL)
        await top.shows("▲ no connection to the MQTT server", "● online (old)")
        server.start()
        service.start()
        await top.until(lambda screen: "▲" not in screen and "● online" in screen and "(old)" not in screen)
        top.process.send_signal(signal.SIGTERM)
        assert await top.ended() == Exit.OK
        assert top.sent.count(BACK) == 1


@pytest.mark.parametrize("plain", [True, False], ids=["NO_COLOR", "colour"])
async def test_no_color(server: Mosquitto, start_fleet: Callable[[int], ServiceProcess], *, plain: bool) -> None:
    start_fleet(2)
    async with Terminal(command(server), environment={"NO_COLOR": "1"} if plain else {}) as top:
        top_text = await top.shows("2 arms  2 online", "▶ r000")
        assert "● online" in top_text
        top.type(DOWN)
        await top.shows("▶ r001")
        top.type("q")
        assert await top.ended() == Exit.OK
        assert bool(COLOUR.search(top.sent)) != plain
