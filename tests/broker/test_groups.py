"""Groups of the settings: told at the start and at each reload, in `meta/groups`, factsheets and an event."""

from pathlib import Path
from typing import Any

import msgspec

from broker.arms.fleet_check import CheckedFleet
from broker.arms.limit_files import LimitFiles
from broker.settings import Settings
from tests.virtual_plant import START_US, Plant, play

TOPIC = "meta/groups"


def cell(**groups: list[str]) -> list[dict[str, Any]]:
    return [{"id": name, "model": "gen3_7dof", "groups": names} for name, names in groups.items()]


async def follow(plant: Plant, **groups: list[str]) -> None:
    """Let the service follow settings with these groups of arms."""
    arms = tuple(
        msgspec.convert({**arm, "adapter": "simulated"}, type(plant.settings.arm[0])) for arm in cell(**groups)
    )
    settings: Settings = msgspec.structs.replace(plant.settings, arm=arms)
    plant.settings = await plant.service.follow_settings(CheckedFleet(settings, LimitFiles(START_US)))


def test_groups_are_told_at_the_start_and_after_each_change(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        first = await plant.document(TOPIC, lambda _: True)
        assert first == {"groups": {"cell-4": 2, "gen3": 1, "all": 2}}
        sheet = await plant.document("meta/factsheet/r1", lambda _: True)
        assert sheet["groups"] == ["cell-4", "gen3"]
        after = len(plant.link.published)
        await follow(plant, r1=["cell-4"], r2=["cell-4", "line"], r3=["cell-4"])
        event = await plant.document("evt/@all/settings", lambda _: True, after)
        assert (event["event"], event["cause"], event["seq"]) == ("GROUPS_CHANGED", "reloaded", 1)
        assert event["details"] == {
            "count": 4,
            "groups": {
                "cell-4": {"arms": 3, "added": 1, "removed": 0},
                "gen3": {"arms": 0, "added": 0, "removed": 1},
                "all": {"arms": 3, "added": 1, "removed": 0},
                "line": {"arms": 1, "added": 1, "removed": 0},
            },
        }
        assert (await plant.document(TOPIC, lambda _: True, after))["groups"] == {"cell-4": 3, "line": 1, "all": 3}
        assert (await plant.document("meta/factsheet/r1", lambda _: True, after))["groups"] == ["cell-4"]
        assert (await plant.call("@line", "FindArms", {}))["result"]["count"] == 1
        assert (await plant.call("@gen3", "FindArms", {}))["error"]["kind"] == "unknown_arm"

    play(tmp_path, scenario, arm=cell(r1=["cell-4", "gen3"], r2=["cell-4"]))


def test_a_reload_that_leaves_groups_alone_tells_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.document(TOPIC, lambda _: True)
        after = len(plant.link.published)
        await follow(plant, r1=["cell-4"])
        await plant.call("r1", "WhoAmI")
        assert not plant.events("@all")
        assert not [each for each in plant.link.published[after:] if each.topic == TOPIC]

    play(tmp_path, scenario, arm=cell(r1=["cell-4"]))
