"""`armbroker demo`: set up, play, clean up."""

import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path

from armbroker.cli.exits import Exit
from armbroker.client import ArmClient, NoServerError, Watched, WatchedDocument
from armbroker.demo.processes import Child, DemoError, child
from armbroker.demo.screen import Screen
from armbroker.demo.server import Plan, Server, mqtt_server, plan
from armbroker.demo.stage import Stage, StoryError
from armbroker.demo.story import MODELS, STORY, Step
from broker.settings import RIGHTS

ONLINE_S = 30.0
"""How long the service and its arms may take to come up."""


def run(*, once: bool, steps: tuple[Step, ...] = STORY, chosen: Plan | None = None) -> Exit:
    """Play the script; then end (`once`), or stay up until Ctrl-C. `chosen` is the MQTT server to start."""
    screen = Screen()
    try:
        return asyncio.run(_demo(chosen or plan(), steps, screen, once=once))
    except NoServerError as error:
        screen.fault(str(error))
        return Exit.NO_SERVER
    except DemoError as error:
        screen.fault(str(error))
        return Exit.REFUSED


async def _demo(chosen: Plan, steps: tuple[Step, ...], screen: Screen, *, once: bool) -> Exit:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory(prefix="armbroker-demo-") as name:
        folder = Path(name)
        async with (
            mqtt_server(chosen, folder) as server,
            child("service", _service(server, folder), folder) as service,
            ArmClient(server.url, user="demo", conn="demo-publisher") as client,
        ):
            screen.say(f"{chosen.name} on {server.url}, the service, {', '.join(map(' '.join, MODELS.items()))}")
            screen.say("-> request   <- reply   ** event   (times are UTC; Ctrl-C ends)")
            stage = Stage(client, screen)
            code = await _unless(stop, service, _perform(client, stage, steps, server, once=once))
            if code is not None:
                return code
            return Exit.OK if stage.finished else Exit.INTERRUPTED


def _service(server: Server, folder: Path) -> list[str]:
    """The command of the service, its settings in `folder`."""
    config = folder / "fleet.toml"
    arms = "".join(
        f'[[arm]]\nid = "{arm}"\nadapter = "simulated"\nmodel = "{model}"\n' for arm, model in MODELS.items()
    )
    data = json.dumps(str(folder / "data"))  # a JSON string is a TOML string
    rights = f'[clients."*"]\nrights = {json.dumps(RIGHTS)}\n'
    text = f'[mqtt]\nurl = "{server.url}"\n[store]\ndir = {data}\n[sim]\nfaults = true\n{rights}{arms}'
    config.write_text(text, encoding="utf-8")
    return [sys.executable, "-m", "armbroker", "run", "--config", str(config)]


async def _unless(stop: asyncio.Event, service: Child, doing: Coroutine[None, None, Exit]) -> Exit | None:
    """What `doing` returns; None if stopped before.

    Raises:
        DemoError: the service ended.
    """
    main, stopped = asyncio.ensure_future(doing), asyncio.ensure_future(stop.wait())
    ended = asyncio.ensure_future(service.ended())
    tasks = (main, stopped, ended)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if main.done():
            return main.result()
        if ended.done():
            raise ended.result()
        return None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _perform(client: ArmClient, stage: Stage, steps: tuple[Step, ...], server: Server, *, once: bool) -> Exit:
    """Wait for the arms, play the steps, and unless `once` go on showing events for ever."""
    async with client.watch() as watched:
        await _arms_online(watched)
        following = asyncio.create_task(stage.follow(watched))
        try:
            failed = await _play(stage, steps)
            if not once:
                stage.screen.say(f"\nThe arms stay up: try `armbroker call left GetControlMode --mqtt {server.url}`,")
                stage.screen.say(f"`armbroker watch --mqtt {server.url}`; Ctrl-C ends.")
                await following
        finally:
            following.cancel()
            await asyncio.wait([following])
    return Exit.REFUSED if failed else Exit.OK


async def _arms_online(watched: AsyncIterator[Watched]) -> None:
    missing = set(MODELS)
    try:
        async with asyncio.timeout(ONLINE_S):
            while missing:
                each = await anext(watched)
                if isinstance(each, WatchedDocument) and (each.document or {}).get("state") == "online":
                    missing.discard(each.arm)
    except TimeoutError:
        raise DemoError(f"not online within {ONLINE_S:g} s: {', '.join(sorted(missing))}") from None


async def _play(stage: Stage, steps: tuple[Step, ...]) -> int:
    """Play every step; how many did not give what they should."""
    failed = 0
    for number, step in enumerate(steps, 1):
        stage.screen.title(number, step.title)
        try:
            await step.play(stage)
        except StoryError as error:
            failed += 1
            stage.screen.fault(str(error))
    stage.finished = True
    stage.screen.say(f"\n{len(steps) - failed} of {len(steps)} steps gave what they should.")
    return failed
