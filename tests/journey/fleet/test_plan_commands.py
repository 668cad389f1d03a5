"""`armbroker plan` and `armbroker call @group` on a running service, as processes of their own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.journey.conftest import ClientMaker
from tests.journey.fleet.test_config_files import OK, REFUSED, USAGE, Shell
from tests.journey.fleet.test_plans import SET, arm, twist

ServiceMaker = Callable[..., Any]


async def test_a_group_is_changed_shown_and_put_back(
    start_service: ServiceMaker, connect: ClientMaker, tmp_path: Path
) -> None:
    cell = [arm("r11", "cell-4"), arm("r12", "cell-4"), arm("r13", "cell-4", site_caps={"twist_linear": 0.2})]
    service = start_service(arm=cell)
    shell, client = Shell(service, tmp_path), await connect(to=service)
    done = await shell("call", "@cell-4", SET, json.dumps(twist(0.3)))
    assert done.code == REFUSED
    assert "partial (METHOD_FAILED): 1 of 3 arms did not take it: r13 out_of_limits." in done.out
    assert "plan 1 ended partial: 2 applied, 1 refused" in done.out
    assert [line.split()[:2] for line in done.out.splitlines() if line.startswith("r1")] == [
        ["r11", "applied"], ["r12", "applied"], ["r13", "refused"],
    ]  # fmt: skip
    listed = await shell("plan", "list")
    assert listed.out.startswith("plan 1 group ended partial: @cell-4 SetTwistLinearSoftLimit by ")
    assert (await shell("plan", "show", "1", "--state", "refused")).out.count("r13") == 1
    some = await shell("call", "@cell-4", SET, json.dumps(twist(0.1)), "--only", "r11,r12", "--all-or-nothing")
    assert (some.code, "plan 2 ended done: 2 applied" in some.out) == (OK, True)
    dry = await shell("call", "@cell-4", SET, json.dumps(twist(0.05)), "--dry-run", "--away", "skip")
    assert (dry.code, "dry run: 3 checked" in dry.out) == (OK, True)
    back = await shell("plan", "reverse", "2", "--reason", "too slow")
    assert (back.code, back.out) == (OK, "plan 2 is reversing\n")
    shown = await shell("plan", "show", "2", "--follow", "--json")
    assert (shown.code, json.loads(shown.out)["outcome"]) == (OK, "reversed")
    again = await shell("plan", "pause", "2")
    assert (again.code, "revision_conflict" in again.err) == (REFUSED, True)
    assert (await shell("plan", "pause", "x")).code == USAGE
    assert (await client.change("@all", "ListPlans", {"limit": 1}))["result"]["plans"][0]["why"] == "too slow"
