#!/usr/bin/env python3
"""What the limits engine costs in the service.

1. A Set of joint speeds, decided in memory: with the checks, and how much of it they are; for an arm without files, and
   for one with a URDF, a JointSafety record and caps.
2. `state/<arm>/effective` of 1,000 arms made anew after a change of each: stack, fold, document, JSON.
3. CheckTrajectory of 10,000 points x 7 joints over MQTT: CPU time of the service a request, and the time to the reply
   as a client on the same machine sees it. Starts a Mosquitto and the service with one simulated arm.

    bench/limits_service.py [--arms 1000] [--points 10000] [--requests 10]
"""

import argparse
import asyncio
import contextlib
import math
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from armbroker.client import ArmClient
from handlers.items.config_items import CHECKS
from handlers.items.own_items import INITIAL_ORDER, initial_value
from handlers.items.sanity import stopping_doubts
from handlers.items.verbs import propose
from handlers.stack.arm_limits import limits_of
from handlers.stack.effective import effective_document
from handlers.state.arm_state import ArmState
from handlers.state.limit_sources import LimitSources
from handlers.state.provenance import Setter, Stamp
from limits.formats.urdf import read_urdf
from limits.kinova_models import MODELS
from schema.arms import Description, JointInfo, Slot
from schema.enums import ControlMode
from schema.items import ITEMS, SOFT_LIMIT_MODES
from schema.joint_items import JointSafetyGains, JointSafetyMap
from schema.messages import (
    JointAccelerationSoftLimits,
    JointSpeedSoftLimits,
    Message,
    TwistAngularSoftLimit,
    TwistLinearSoftLimit,
)

MODEL = MODELS["gen3_7dof"]
MODE = ControlMode.ANGULAR_JOYSTICK
SPEEDS: Slot = ("joint_speed_soft_limits", int(MODE))
SOFT: dict[str, tuple[type[Message], str]] = {
    "joint_speed_soft_limits": (JointSpeedSoftLimits, "joint_speed_limits"),
    "joint_acceleration_soft_limits": (JointAccelerationSoftLimits, "joint_acceleration_limits"),
    "twist_linear_soft_limit": (TwistLinearSoftLimit, "twist_linear"),
    "twist_angular_soft_limit": (TwistAngularSoftLimit, "twist_angular"),
}
SOURCES = LimitSources(
    urdf=read_urdf(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="joint_2" type="revolute"><parent link="a"/>'
        '<child link="b"/><limit lower="-2.2" upper="2.2" velocity="1.3" effort="39"/></joint></robot>'
    ),
    urdf_file="r.urdf",
    site_caps={"twist_linear": 0.4},
)


def arm(name: str, sources: LimitSources) -> ArmState:
    """An arm as the service holds it after first contact."""
    told = Description(
        MODEL.name, "S-1", "2.2.0", tuple(JointInfo(joint.name, joint.type) for joint in MODEL.joints), MODEL.hard,
        "hard:device", MODEL.payload_max, (int(MODE),),
    )  # fmt: skip
    state = ArmState(name, "simulated", frozenset(), 1e-4, sources=sources, description=told)
    state.adopted = state.online = state.ready = True
    held: dict[Slot, Message] = {
        (key, int(mode)): cls(mode, getattr(MODEL.soft_defaults[mode], field))
        for key, (cls, field) in SOFT.items()
        for mode in SOFT_LIMIT_MODES[key]
    }
    state.desired, state.reported = dict(held), dict(held)
    for slot in INITIAL_ORDER:
        state.desired[slot] = state.reported[slot] = initial_value(state, slot)
    for slot in state.desired:
        state.desired_by[slot] = state.reported_by[slot] = Setter(Stamp("@arm", 1))
    return state


def speeds(value: float) -> JointSpeedSoftLimits:
    """Joint speeds of the mode, deg/s."""
    return JointSpeedSoftLimits(MODE, (value,) * len(MODEL.joints))


def microseconds(work: Callable[[int], object], times: int) -> float:
    """Median of five runs: CPU time of one call, µs."""
    runs = []
    for _ in range(5):
        begin = time.process_time()
        for number in range(times):
            work(number)
        runs.append((time.process_time() - begin) / times * 1e6)
    return statistics.median(runs)


def change(state: ArmState, slot: Slot, value: Message) -> None:
    """A change that was applied."""
    state.rev += 1
    state.desired[slot] = state.reported[slot] = value


def decisions() -> None:
    """Part 1."""
    item = ITEMS[SPEEDS[0]]
    safe = arm("r2", SOURCES)
    change(safe, ("joint_safety", 0), JointSafetyMap({"joint_2": JointSafetyGains(1.5, -1.5, 5.0, 20.0)}))
    for what, state in (("no files", arm("r1", LimitSources())), ("URDF, JointSafety, caps", safe)):

        def decide(number: int, state: ArmState = state) -> None:
            change(state, SPEEDS, speeds(20.0 + number % 20))
            propose(item, state, SPEEDS, speeds(30.0))

        def only(number: int, state: ArmState = state) -> None:
            change(state, SPEEDS, speeds(20.0 + number % 20))

        def checks(number: int, state: ArmState = state) -> None:
            change(state, SPEEDS, speeds(20.0 + number % 20))
            CHECKS[item.key](state, speeds(30.0))
            stopping_doubts(state, SPEEDS, speeds(30.0))

        rest = microseconds(only, 500)
        print(
            f"Set of joint speeds, {what}: {microseconds(decide, 500) - rest:.1f} us CPU, "
            f"of which checks {microseconds(checks, 500) - rest:.1f}"
        )


def documents(arms: int) -> None:
    """Part 2."""
    encode = msgspec.json.Encoder().encode
    states = [arm(f"r{number}", LimitSources()) for number in range(arms)]
    sizes = [len(encode(effective_document(state))) for state in states]
    for state in states:
        change(state, SPEEDS, speeds(33.0))
    begin = time.perf_counter()
    for state in states:
        limits_of(state).folded  # noqa: B018 - made when asked for
    recomputed = time.perf_counter() - begin
    begin = time.perf_counter()
    for state in states:
        encode(effective_document(state))
    print(
        f"effective limits of {arms} arms after a change of each: {recomputed:.3f} s; their documents "
        f"({statistics.mean(sizes) / 1024:.0f} KiB of JSON each): {time.perf_counter() - begin:.3f} s"
    )


def trajectory(points: int, *names: str) -> dict[str, Any]:
    """A slow swing of all joints with numbers of six decimals, 100 points/s."""
    turns = [point * 0.01 * 0.5 for point in range(points)]
    shapes = {"positions": math.sin, "velocities": math.cos, "accelerations": math.sin}
    sizes = {"positions": 0.4, "velocities": 0.2, "accelerations": -0.1}
    rows = {
        name: [[round(sizes[name] * shapes[name](turn + joint), 6) for joint in range(7)] for turn in turns]
        for name in names
    }
    return {"times": [round(point * 0.01, 2) for point in range(points)], "check_mode": "CHECK_NONE", **rows}


@contextlib.contextmanager
def running(command: list[str], log: Path) -> Iterator[int]:
    """The pid of a child process for the time of the block."""
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        yield child.pid
    finally:
        child.terminate()
        child.wait(20)


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu_s(pid: int) -> float:
    """CPU time of a process so far, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def checks(url: str, pid: int, points: int, requests: int) -> None:
    """Part 3."""
    lists = ("positions", "velocities", "accelerations")
    async with ArmClient(url, user="bench", conn="bench") as client:
        await client.call("sim-0000", "GetGravityVector", timeout=30.0)
        for names in (lists[:1], lists[:2], lists):
            params = trajectory(points, *names)
            size = len(msgspec.json.encode(params))
            await client.call("sim-0000", "CheckTrajectory", params, timeout=60.0)
            begin, used = time.perf_counter(), cpu_s(pid)
            for _ in range(requests):
                await client.call("sim-0000", "CheckTrajectory", params, timeout=60.0)
            took, spent = (time.perf_counter() - begin) / requests, (cpu_s(pid) - used) / requests
            what = ", ".join(names)
            print(
                f"CheckTrajectory {points} x 7, {what} ({size / 1e6:.1f} MB): {spent * 1e3:.0f} ms CPU in the service, "
                f"{took * 1e3:.0f} ms to the reply"
            )


def over_mqtt(points: int, requests: int) -> int:
    """Run part 3 on a Mosquitto and a service of its own."""
    mosquitto = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if mosquitto is None:
        print("mosquitto is not installed: apt install mosquitto", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place:
        folder, port = Path(place), free_port()
        conf = folder / "mosquitto.conf"
        conf.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nlog_type error\n")
        url = f"mqtt://127.0.0.1:{port}"
        service = [
            sys.executable,
            "-m",
            "armbroker",
            "run",
            "--mqtt",
            url,
            "--data",
            str(folder / "data"),
            "--sim",
            "1",
        ]
        with running([mosquitto, "-c", str(conf)], folder / "mosquitto.log"):
            time.sleep(0.5)
            with running(service, folder / "service.log") as pid:
                asyncio.run(checks(url, pid, points, requests))
    return 0


def main() -> int:
    """Print the three parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=1_000)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=10)
    options = parser.parse_args()
    decisions()
    documents(options.arms)
    return over_mqtt(options.points, options.requests)


if __name__ == "__main__":
    sys.exit(main())
