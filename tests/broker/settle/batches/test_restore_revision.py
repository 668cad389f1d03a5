"""RestoreRevision: what was there after a revision comes back as one change of today."""

from pathlib import Path
from typing import Any

import pytest

from schema.enums import ControlMode
from schema.messages import PayloadInformation, TwistLinearSoftLimit
from tests.virtual_plant import Plant, play

TWIST = "twist_linear_soft_limit"
PATH = f"{TWIST}/CARTESIAN_JOYSTICK"
GAINS = {"soft_upper_limit": 2.0, "soft_lower_limit": -2.0, "k_position": 20.0, "k_velocity": 5.0}


async def apply(plant: Plant, items: dict[str, Any]) -> int:
    """Apply items; the revision."""
    reply = await plant.call("r1", "ApplyConfig", {"items": items})
    assert reply["ok"], reply
    return int(reply["rev"])


async def restore(plant: Plant, rev: int, **params: Any) -> dict[str, Any]:
    """Restore a revision; the reply."""
    return await plant.call("r1", "RestoreRevision", {"rev": rev} | params)


def twist(limit: float) -> dict[str, Any]:
    """Items with one soft limit."""
    return {TWIST: {"CARTESIAN_JOYSTICK": limit}}


def test_what_changed_since_comes_back_in_one_revision(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        state = plant.session().state
        rev = await apply(plant, twist(0.2) | {"payload_information": {"payload_mass": 1.0}})
        wanted = dict(state.reported)
        await apply(plant, {"payload_information": {"payload_mass": 2.0}, "tool_configuration": {"tool_mass": 0.5}})
        await plant.call("r1", "SetJointSafety", {"joints": {"joint_2": GAINS}})
        await plant.call("r1", "SetPayloadInformation", {"payload_mass": 3.0})
        reply = await restore(plant, rev)
        assert (reply["ok"], reply["rev"]) == (True, 6), reply
        assert reply["result"]["items"] == {
            "joint_safety": "applied", "tool_configuration": "applied", "payload_information": "applied",
        }  # fmt: skip
        assert state.reported == wanted == state.desired
        (entry,) = (await plant.call("r1", "GetHistory", {"after_rev": 5}))["result"]["changes"]
        assert (entry["method"], entry["outcomes"]) == ("RestoreRevision", reply["result"]["items"])
        undone = await restore(plant, 5)
        assert undone["ok"]
        assert state.reported["payload_information", 0] == PayloadInformation(payload_mass=3.0)

    play(tmp_path, scenario)


def test_a_change_is_undone_with_the_revision_before_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        rev = await apply(plant, twist(0.1) | {"tool_configuration": {"tool_mass": 0.5}})
        reply = await restore(plant, rev - 1, items=[PATH])
        assert reply["result"]["items"] == {PATH: "applied"}
        dry = await plant.call("r1", "RestoreRevision", {"rev": 1}, dry_run=True)
        assert dry["result"]["items"][PATH]["direction"] == "loosening"
        assert set((await restore(plant, rev + 1))["result"]["items"].values()) == {"unchanged"}

    play(tmp_path, scenario)


def test_what_no_longer_fits_refuses_it_or_is_left_out(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await apply(plant, {"joint_speed_soft_limits": {"ANGULAR_JOYSTICK": [20.0] * 7}})
        speeds = {"joint_speed_soft_limits": {"ANGULAR_JOYSTICK": [5.0] * 7}}
        await apply(plant, speeds | {"tool_configuration": {"tool_mass": 0.5}})
        await apply(plant, {"joint_limits": {"max_velocity": {"values": [0.1] * 7}}})
        named = {"items": ["joint_speed_soft_limits", "tool_configuration"]}
        refused = await restore(plant, rev, **named)
        assert refused["error"]["kind"] == "out_of_limits"
        path = "items.joint_speed_soft_limits.ANGULAR_JOYSTICK[0]"
        assert refused["error"]["violations"][0]["path"] == path
        left = await restore(plant, rev, **named, partial=True)
        assert left["ok"]
        assert set(left["result"]["left_out"]) == {"joint_speed_soft_limits/ANGULAR_JOYSTICK"}
        assert left["result"]["items"]["tool_configuration"] == "applied"

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("params", "kind", "text"),
    [
        ({"rev": 900}, "out_of_limits", "params.rev: 900 > 2, the present revision of r1. Nothing was changed."),
        ({"rev": 0}, "out_of_limits", "params.rev: 0 < 1"),
        ({}, "malformed", "params.rev: a revision is needed"),
        ({"rev": 1, "items": ["nothing"]}, "unknown_enum", "params.items[0]"),
        ({"rev": 1, "all": True}, "unknown_field", ""),
        ({"rev": 1, "on_failure": "retry"}, "unknown_enum", "params.on_failure"),
    ],
)
def test_what_cannot_be_restored_is_told(tmp_path: Path, params: dict[str, Any], kind: str, text: str) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        reply = await plant.call("r1", "RestoreRevision", params)
        assert (reply["ok"], reply["error"]["kind"]) == (False, kind), reply
        assert reply["error"]["message"].startswith(text)

    play(tmp_path, scenario)


def test_a_factory_restored_is_a_revision_too(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        state = plant.session().state
        fresh = dict(state.reported)
        await apply(plant, twist(0.2))
        rev = (await plant.call("r1", "RestoreFactory", {}))["rev"]
        await apply(plant, twist(0.1))
        assert (await restore(plant, rev))["ok"]
        assert state.reported == fresh
        assert (await restore(plant, rev - 1))["ok"]
        assert state.reported["twist_linear_soft_limit", 2] == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.2)

    play(tmp_path, scenario)


def test_what_another_writer_changed_counts_too(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        await plant.fault("r1", "foreign_change", item=TWIST, slot="CARTESIAN_JOYSTICK", value=0.3)
        await plant.turn(1.0)
        rev = plant.session().state.rev
        await apply(plant, twist(0.1))
        assert (await restore(plant, rev))["ok"]
        state = plant.session().state
        assert state.reported["twist_linear_soft_limit", 2] == TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.3)

    play(tmp_path, scenario)


LOAD = "payload_information"


async def blame(plant: Plant, *paths: str) -> dict[str, tuple[int, str, bool]]:
    """Revision and method of values, and whether they have an end, by path."""
    reply = await plant.call("r1", "Blame", {"items": list(paths)})
    assert reply["ok"], reply
    return {one["path"]: (one["rev"], one["method"], "until" in one) for one in reply["result"]["values"]}


async def history(plant: Plant, after: int) -> list[dict[str, Any]]:
    """The entries above a revision, newest first."""
    found: list[dict[str, Any]] = (await plant.call("r1", "GetHistory", {"after_rev": after}))["result"]["changes"]
    return found


def there(plant: Plant) -> tuple[float, float]:
    """Limit and mass that are reported."""
    reported: dict[Any, Any] = dict(plant.session().state.reported)
    limit, load = reported[TWIST, 2], reported[LOAD, 0]
    return limit.twist_linear_soft_limit, load.payload_mass


def test_a_revision_can_be_restored_for_a_time(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await apply(plant, twist(0.4) | {LOAD: {"payload_mass": 1.0}})
        now = await apply(plant, twist(0.2) | {LOAD: {"payload_mass": 2.0}})
        reply = await plant.call("r1", "RestoreRevision", {"rev": rev}, valid_for_ms=600_000)
        over = reply["rev"]
        assert (reply["ok"], there(plant)) == (True, (0.4, 1.0))
        (override,) = plant.service._documents.build(plant.session(), "config")["overrides"]
        assert (override["rev"], sorted(override["paths"]), override["until"]) == (over, [LOAD, PATH], reply["until"])
        (entry,) = await history(plant, now)
        assert (entry["method"], entry["until"]) == ("RestoreRevision", reply["until"])
        assert await blame(plant, PATH, LOAD) == dict.fromkeys((PATH, LOAD), (over, "RestoreRevision", True))
        await plant.turn(601.0)
        assert there(plant) == (0.2, 2.0)
        entry, _ = await history(plant, now)
        assert (entry["method"], entry["returned_from"], entry["outcomes"]) == (
            "EndOverride", over, {PATH: "applied", LOAD: "applied"},
        )  # fmt: skip
        assert (entry["before"][PATH], entry["after"][PATH]) == (0.4, 0.2)
        assert (entry["before"][LOAD]["payload_mass"], entry["after"][LOAD]["payload_mass"]) == (1.0, 2.0)
        assert await blame(plant, PATH, LOAD) == dict.fromkeys((PATH, LOAD), (entry["rev"], "EndOverride", False))
        of_item = (await plant.call("r1", "GetHistory", {"item": LOAD}))["result"]["changes"]
        assert [one["rev"] for one in of_item] == [entry["rev"], over, now, rev]
        assert plant.session().state.overrides is None

    play(tmp_path, scenario)


def test_a_revision_with_overrides_is_restored_as_its_ground(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await apply(plant, twist(0.4) | {LOAD: {"payload_mass": 1.0}})
        items = {"items": twist(0.2) | {LOAD: {"payload_mass": 2.0}}}
        over = (await plant.call("r1", "ApplyConfig", items, valid_for_ms=600_000))["rev"]
        await plant.turn(601.0)
        returned = plant.session().state.rev
        assert (there(plant), returned) == ((0.4, 1.0), over + 1)
        await apply(plant, twist(0.1) | {LOAD: {"payload_mass": 3.0}})
        for one in (rev, over, returned):
            dry = await plant.call("r1", "RestoreRevision", {"rev": one}, dry_run=True)
            assert dry["result"]["items"][PATH]["after"] == 0.4
            assert dry["result"]["items"][LOAD]["after"]["payload_mass"] == 1.0

    play(tmp_path, scenario)


def test_a_restored_revision_that_ends_behind_a_change_for_good_leaves_that(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await apply(plant, twist(0.4) | {LOAD: {"payload_mass": 1.0}})
        await apply(plant, twist(0.2) | {LOAD: {"payload_mass": 2.0}})
        until = {"until": "2027-01-15T09:00:00Z"}
        reply = await plant.call("r1", "RestoreRevision", {"rev": rev, "on_failure": "reverse"}, **until)
        assert reply["ok"], reply
        kept = await apply(plant, twist(0.3))
        await plant.turn(3_700.0)
        assert there(plant) == (0.3, 2.0)
        assert (await blame(plant, PATH))[PATH] == (kept, "ApplyConfig", False)

    play(tmp_path, scenario)


def test_a_revision_that_is_there_already_can_be_restored_for_a_time(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await apply(plant, twist(0.4) | {LOAD: {"payload_mass": 1.0}})
        reply = await plant.call("r1", "RestoreRevision", {"rev": rev, "items": [PATH]}, valid_for_ms=600_000)
        assert (reply["ok"], "until" in reply) == (True, True)
        before = plant.session().state.rev
        await plant.turn(601.0)
        assert (there(plant), plant.session().state.overrides) == ((0.4, 1.0), None)
        assert plant.session().state.rev == before, "nothing was to be led back"

    play(tmp_path, scenario)
