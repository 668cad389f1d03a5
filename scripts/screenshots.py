#!/usr/bin/env python3
"""Takes the pictures of docs/screen.md: a Mosquitto, a service of simulated arms, `armbroker web` in Chromium, `top`.

python scripts/screenshots.py [DIR]
"""

import asyncio
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from armbroker.board.board import Board  # noqa: E402 - the path first
from armbroker.board.feed import Feed  # noqa: E402 - likewise
from armbroker.client import ArmClient  # noqa: E402 - likewise
from armbroker.top.app import TopApp  # noqa: E402 - likewise
from tests.chromium import Chromium  # noqa: E402 - likewise
from tests.journey.client import Client  # noqa: E402 - likewise
from tests.journey.processes import ServiceProcess, online  # noqa: E402 - likewise
from tests.mosquitto import Mosquitto  # noqa: E402 - likewise
from tests.screens import page_served  # noqa: E402 - likewise

NAME = "armbroker"
ARM = "weld-03"
CELLS = {"weld": ("gen3_7dof", 12), "pack": ("gen3_6dof", 18), "lab": ("gen3_lite", 6)}
MODES = ("CARTESIAN_JOYSTICK", "ANGULAR_TRAJECTORY", "CARTESIAN_TRAJECTORY", "IDLE")
WIDE, HIGH = 1440, 880
SETTLE_S = 0.6


def fleet(server: Mosquitto, folder: Path) -> ServiceProcess:
    """A service of arms of three models; those that weld have caps of the site."""
    (folder / "policy.toml").write_text(POLICY)
    service = ServiceProcess(server, folder, NAME, (), more='[policy]\nfile = "policy.toml"\n')
    arms = [
        (f"{cell}-{number:02d}", model, cell) for cell, (model, most) in CELLS.items() for number in range(1, most + 1)
    ]
    text = "".join(
        f'[[arm]]\nid = "{arm}"\nmodel = "{model}"\ngroups = ["{cell}", "{model}"]\n' for arm, model, cell in arms
    )
    text = text.replace(f'id = "{ARM}"\n', f'id = "{ARM}"\n{CAPS}')
    settings = service.config.read_text().replace("[mqtt]\n", '[mqtt]\nidentity = "server-acl"\n')
    service.config.write_text(settings + text)
    return service.start()


POLICY = """[roles]
leader = ["alice"]
planner = ["bob"]

[[rule]]
name = "leaders do all"
roles = ["leader"]
allow = ["tighten", "loosen", "mode", "authority", "hold", "fault", "confirm", "recipe", "rollout", "steer", "approve"]

[[rule]]
name = "planners, with a second person"
roles = ["planner"]
allow = ["tighten", "loosen"]
two_person = true
"""
CAPS = "site_caps = { velocity = 1.2 }\n"


async def morning(alice: Client) -> None:
    """What happened before the picture."""
    call = alice.call
    arms = [f"{cell}-{number:02d}" for cell, (_, most) in CELLS.items() for number in range(1, most + 1)]
    for place, arm in enumerate(arms):
        if (mode := MODES[place % len(MODES)]) != "IDLE":
            await call(arm, "SetControlMode", {"control_mode": mode})
    await call(ARM, "SetControlMode", {"control_mode": "CARTESIAN_JOYSTICK"})
    for value, why in ((0.4, "new gripper"), (0.25, "teaching"), (0.1, "people nearby"), (0.3, "teaching is over")):
        params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": value}
        await call(ARM, "SetTwistLinearSoftLimit", params, reason=why)
        await asyncio.sleep(1.5)
    speeds = {"control_mode": "CARTESIAN_JOYSTICK", "joint_speed_soft_limits": [40.0, 40, 50, 60, 55, 65, 65]}
    await call(ARM, "SetJointSpeedSoftLimits", speeds, reason="cable guide")
    await call("pack-07", "HoldArm", {"reason": "gripper change"})
    await call("pack-11", "SimFault", {"fault": "offline"})
    await call("weld-08", "SimFault", {"fault": "offline"})
    await call(
        "weld-08", "SetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
    )
    await call("lab-02", "SetAuthority", {"authority": "observe", "reason": "being calibrated"})
    await call("lab-04", "SimFault", {"fault": "moving"})
    payload = {"payload_mass": 1.2, "payload_mass_center": {"x": 0.0, "y": 0.0, "z": 0.06}}
    await call("pack-03", "SetPayloadInformation", payload, reason="crate of type B")
    await call(
        "pack-05",
        "SimFault",
        {"fault": "foreign_change", "item": "gravity_vector", "value": {"x": 0, "y": 9.81, "z": 0}},
    )


async def fleet_morning(alice: Client, bob: Client) -> None:
    """What was done with groups, with ends and in waves; some of it is under way."""
    call = alice.call
    items = {"payload_information": {"payload_mass": 0.8}, "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.3}}
    await call("@all", "PutRecipe", {"name": "weld-seam-7", "items": items})
    await call("@weld", "ApplyRecipe", {"recipe": "weld-seam-7"}, reason="order 4711")
    mode = {"control_mode": "CARTESIAN_JOYSTICK"}
    for arm, minutes in ((ARM, 42), ("weld-05", 8), ("pack-02", 125)):
        slow = {**mode, "twist_linear_soft_limit": 0.1}
        await call(arm, "SetTwistLinearSoftLimit", slow, valid_for_ms=minutes * 60_000, reason="people nearby")
    wave = {"method": "SetTwistAngularSoftLimit", "params": {**mode, "twist_angular_soft_limit": 20.0}}
    params = {**wave, "on_failure": "pause", "canary": 2, "waves": [25, 60, 100], "pause_after": [1]}
    await call("@pack", "Rollout", params, reason="new gripper fingers")
    await call("@lab", "SetTwistLinearSoftLimit", {**mode, "twist_linear_soft_limit": 0.1}, reason="visitors")
    quicker = {**mode, "twist_linear_soft_limit": 0.2}
    await bob.call("@lab", "SetTwistLinearSoftLimit", quicker, reason="quicker")


async def web_pictures(address: str, folder: Path, target: Path) -> None:
    """The page, light and dark."""
    async with Chromium(folder / "chromium") as browser:
        page = await browser.page(WIDE, HIGH)
        await page.scheme("light")
        await page.open(address)
        await page.until("document.body.dataset.link === 'live' && document.querySelectorAll('.line').length > 20")
        await page.eval("document.querySelector('[data-key=presence] button').click()")
        while await page.eval("document.getElementById('grid').getAttribute('aria-activedescendant')") != f"arm-{ARM}":
            await page.key("ArrowDown")
        await page.key("Enter")
        await page.until("document.querySelector('.limits')")
        await page.eval("document.getElementById('layer-velocity/joint_1').click()")
        await page.until("document.querySelector('.stack .source')")
        await page.eval("document.getElementById('grid').scrollTop = 0")
        await page.eval("document.getElementById('grid').focus()")
        await asyncio.sleep(SETTLE_S)
        await page.screenshot(target / "screen_web_light.png")
        await page.scheme("dark")
        await page.key("3")
        await page.until("document.querySelector('svg.plot')")
        await asyncio.sleep(SETTLE_S)
        await page.screenshot(target / "screen_web_dark.png")
        await page.scheme("light")
        await page.key("Escape", "g")
        await page.until("document.querySelector('.plan')")
        await asyncio.sleep(SETTLE_S)
        await page.screenshot(target / "screen_web_plans.png")


async def top_picture(app: TopApp, folder: Path, target: Path) -> None:
    """The terminal, by Chromium from the drawing that textual makes of it."""
    async with app.run_test(size=(150, 44)) as pilot:
        await pilot.pause(SETTLE_S)
        while app.arm != ARM:
            await pilot.press("down")
        await pilot.press("enter")
        await pilot.pause(SETTLE_S)
        picture = re.sub(r"@font-face \{.*?\}", "", app.export_screenshot(), flags=re.DOTALL)
    (folder / "top.svg").write_text(picture)
    wide, high = (float(each) for each in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture)[0])
    async with Chromium(folder / "chromium2") as browser:
        page = await browser.page(round(wide * 0.75), round(high * 0.75))
        await page.open((folder / "top.svg").as_uri())
        await page.screenshot(target / "screen_top.png")


async def main(target: Path) -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as name:
        folder, board = Path(name), Board()
        server = Mosquitto(folder).start()
        service, app = fleet(server, folder), TopApp(board)
        try:
            async with (
                Client(server.port, f"{NAME}/v1", "alice", "hmi-4") as alice,
                Client(server.port, f"{NAME}/v1", "bob", "plan-1") as bob,
                ArmClient(server.url, user="cli", conn="top") as client,
                page_served(server.url) as web,
            ):
                feeding = asyncio.create_task(Feed(client, board, app.note).run())
                await alice.subscribe("svc/+")
                await online(alice, 1)
                await morning(alice)
                await fleet_morning(alice, bob)
                await web_pictures(web.address, folder, target)
                await top_picture(app, folder, target)
                feeding.cancel()
        finally:
            service.kill()
            server.stop()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs"))
