"""Runs the Kinova cases on a whole service with a real MQTT server and arms that remember what they were told."""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from schema.arms import Fault
from schema.items import ITEMS
from tests.journey import recording
from tests.journey.client import Client
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import Mosquitto
from tests.vectors import kinova_processes
from tests.vectors.kinova_records import record_of

SETTERS = {"tool": "SetToolConfiguration", "gravity": "SetGravityVector", "payload": "SetPayloadInformation"}
"""How a part of a case's `state` comes about."""
Case = dict[str, Any]


class WrongError(Exception):
    """What is not as the case says."""


def same(what: str, found: Any, expected: Any) -> None:
    """Raise WrongError unless what was found is what is expected."""
    if found != expected:
        raise WrongError(f"{what}: {found}, expected {expected}")


class Run:
    """One case on a running service: what was replied, announced and written."""

    def __init__(self, case: Case, client: Client, service: RunningService) -> None:
        self.case = case
        self.steps: list[Case] = case.get("steps") or [{"rpc": case["rpc"], "request": case["request"]}]
        self.replies: list[Case] = []
        self.before: list[Case] = []
        """What the reads of the case gave before its first step."""
        self.events: list[Case] = []
        self._client = client
        self._service = service

    async def carry_out(self) -> None:
        """Bring about the state, take the steps, wait for every event."""
        arms = arms_of(self.case)
        for part, value in self.case.get("state", {}).items():
            await self._client.change(arms[0], SETTERS[part], value)
        known = {arm: await self._head(arm) for arm in arms}
        for arm in arms:
            recording.ARMS[arm].written.clear()
        for step in self.steps:
            reads = step.get("rpc", "").startswith("Get")
            self.before.append(await self._call(step) if reads else {})
        for step in self.steps:
            if "notify" in step:
                await self._notify(step)
            else:
                self.replies.append(await self._call(step))
        for arm in arms:
            for seq in range(known[arm] + 1, await self._head(arm) + 1):
                await self._take_event(arm, seq)

    async def _call(self, step: Case) -> Case:
        return await self._client.call(arm_of(step), step["rpc"], step["request"])

    async def _head(self, arm: str) -> int:
        reply = await self._client.change(arm, "GetEvents", {"after_seq": 0})
        return int(reply["result"]["head_seq"])

    async def _take_event(self, arm: str, seq: int) -> None:
        start = f"evt/{arm}/"
        message = await self._client.take(lambda one: one.topic.startswith(start) and one.document["seq"] == seq)
        self.events.append({**message.document, "topic": message.topic.removeprefix(start)})

    async def _notify(self, step: Case) -> None:
        """Let an arm hold other values than before, and tell so; wait until that is announced."""
        arm = arm_of(step)
        for item, value in step["reads"].items():
            fault = Fault("foreign_change", 0, 0, (item, 0), record_of(value, ITEMS[item].record))
            self._service.call(partial(recording.ARMS[arm].inner.inject, fault))
            topic = f"evt/{arm}/config/{step['notify']['event']}"
            self._client.inbox.append(await self._client.take_topic(topic))

    @property
    def written(self) -> list[Any]:
        """The commands of all arms of the case."""
        return [command for arm in arms_of(self.case) for command in recording.ARMS[arm].written]

    def notices(self) -> list[int]:
        """How many notices each handle got that the case opened."""
        handles = [reply["result"]["identifier"] for reply in self.replies if "identifier" in reply.get("result", {})]
        topics = [f"ntf/{self._client.user}/{self._client.conn}/{handle}" for handle in handles]
        return [sum(1 for message in self._client.inbox if message.topic == topic) for topic in topics]


def arm_of(step: Case) -> str:
    """The arm a step is for."""
    return str(step.get("arm", "arm"))


def arms_of(case: Case) -> list[str]:
    """The arms of a case."""
    return sorted({arm_of(step) for step in case.get("steps", [{}])})


def check_reply(reply: Case, expected: Case, before: Case) -> None:
    """Compare a reply with what a case says of it."""
    for key, value in expected.items():
        if key in ("ok", "stage", "final"):
            same(key, reply[key], value)
        elif key == "warnings":
            same(key, [one["name"] for one in reply["warnings"] if one["name"] != "ROUNDED"], value)
        elif key == "error":
            same(key, {name: reply.get("error", {}).get(name) for name in value}, value)
        elif key == "violations":
            same(key, [one["path"] for one in reply["error"]["violations"]], value)
        elif key == "suggest":
            same(key, reply["error"]["violations"][0]["suggest"], value)
        elif value == "unchanged":
            same(key, reply["result"][key], before["result"][key])
        elif key != "handle":
            raise WrongError(f"nothing checks {key}")


def check_replies(run: Run, replies: list[Case]) -> None:
    """Compare the replies to the steps; handles of one case differ."""
    same("number of replies", len(run.replies), len(replies))
    for reply, expected, before in zip(run.replies, replies, run.before, strict=True):
        check_reply(reply, expected, before)
    handles = [
        reply["result"]["identifier"]
        for reply, expected in zip(run.replies, replies, strict=True)
        if "handle" in expected
    ]
    same("distinct handles", len(set(handles)), len(handles))


def names(events: list[Case]) -> list[str]:
    """The names of configuration events."""
    return [event["event"] for event in events if event["topic"].startswith("config/")]


def check_device_request(run: Run, expected: Case) -> None:
    """The arm was told the whole message and nothing of an earlier one."""
    same("device calls", len(run.written), 1)
    command = run.written[0]
    same("device request", command.value, record_of(expected, type(command.value)))


def check_full_replace(run: Run, _expected: object) -> None:
    """What the arm was told is what was asked, defaults included."""
    command = run.written[-1]
    same("full replace", command.value, record_of(run.steps[-1]["request"], type(command.value)))


CHECKS: dict[str, Callable[[Run, Any], None]] = {
    "replies": check_replies,
    "events": lambda run, value: same("events", names(run.events), value),
    "device_calls": lambda run, value: same("device calls", len(run.written), value),
    "device_request": check_device_request,
    "full_replace": check_full_replace,
    "notices_per_handle": lambda run, value: same("notices", run.notices(), [value] * len(run.notices())),
    "device_subscriptions": lambda run, value: same(
        "device subscriptions", [recording.ARMS[arm].watched for arm in arms_of(run.case)], [value]
    ),
    "events_by_arm": lambda run, value: same(
        "events by arm", {arm: names([one for one in run.events if one["arm"] == arm]) for arm in value}, value
    ),
    "cause": lambda run, value: same("cause", {event["cause"] for event in run.events}, {value}),
    "by_user": lambda run, value: same("by", {event["by"]["user"] for event in run.events}, {value}),
}
"""How each key of an outcome is checked, beside those of a single reply."""
NOT_CHECKED = {"detail", "strict_mode", "processes"}


@contextlib.asynccontextmanager
async def stage(case: Case, *, strict: bool) -> AsyncIterator[Run]:
    """A service for one case on a server of its own."""
    recording.register()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        server = Mosquitto(folder).start()
        settings = settings_of(server.url, "cases", folder / "data", arms_of(case), checks={"strict": strict})
        arms = tuple(msgspec.structs.replace(arm, adapter=recording.NAME, model=case["model"]) for arm in settings.arm)
        service = RunningService(msgspec.structs.replace(settings, arm=arms)).start()
        try:
            async with Client(server.port, service.root, "alice", "alice-1") as client:
                await client.subscribe("evt/#")
                yield Run(case, client, service)
        finally:
            service.stop()
            server.stop()


async def check(case: Case, outcome: Case, *, strict: bool) -> None:
    """Raise WrongError unless the case has this outcome."""
    async with stage(case, strict=strict) as run:
        await run.carry_out()
    of_reply = {key: value for key, value in outcome.items() if key not in CHECKS and key not in NOT_CHECKED}
    if of_reply:
        check_reply(run.replies[-1], of_reply, run.before[-1])
    for key, value in outcome.items():
        if key in CHECKS:
            CHECKS[key](run, value)


async def check_processes(case: Case, outcome: Case) -> None:
    """Raise WrongError unless a case holds with the adapter of real arms, each in a process of its own."""
    events, processes = await kinova_processes.run(case, arms_of(case))
    same("processes", processes, outcome["processes"])
    found = {arm: [event["event"] for event in told] for arm, told in events.items()}
    same("events by arm, in processes", found, outcome["events_by_arm"])
    everything = [event for told in events.values() for event in told]
    same("cause, in processes", {event["cause"] for event in everything}, {outcome["cause"]})
    same("by, in processes", {event["by"]["user"] for event in everything}, {outcome["by_user"]})


def run_case(case: Case) -> str | None:
    """Whether a case has the outcome it lists, by default and when strict."""
    outcome = case["outcome"]
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what the service logs
            asyncio.run(check(case, outcome, strict=False))
            if "processes" in outcome:
                asyncio.run(check_processes(case, outcome))
            if "strict_mode" in outcome:
                asyncio.run(check(case, outcome["strict_mode"], strict=True))
    except WrongError as wrong:
        return str(wrong)
    return None
