from pathlib import Path
from typing import Any

from broker.record.effects import change_at, effects_of
from handlers.batch.reversal import Effect
from schema.enums import ControlMode
from schema.messages import TwistLinearSoftLimit
from tests.virtual_plant import Plant, play

DAY_US = 86_400_000_000
SET = "SetPayloadInformation"


async def history(plant: Plant, **params: Any) -> dict[str, Any]:
    """A page of the history."""
    found: dict[str, Any] = (await plant.call("r1", "GetHistory", params))["result"]
    return found


def test_the_history_of_an_item_has_the_batches_that_touch_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(1, 6):
            payload = {"payload_mass": number / 10}
            items: dict[str, Any] = {"payload_information": payload, "desired_linear_twist": {"linear": number / 100}}
            await plant.call("r1", "ApplyConfig", {"items": items})
            await plant.call("r1", "ApplyConfig", {"items": {"desired_linear_twist": {"linear": number / 90}}})
            await plant.call("r1", SET, {"payload_mass": number / 10 + 0.05})
        await plant.call("r1", "RestoreFactory", {})
        assert plant.session().state.rev == 17
        found = await history(plant, item="payload_information")
        assert [one["rev"] for one in found["changes"]] == [17, 16, 14, 13, 11, 10, 8, 7, 5, 4, 2]
        assert found["more"] is False
        pages, before = [], 0
        while True:
            page = await history(plant, item="payload_information", limit=3, before_rev=before)
            pages += [one["rev"] for one in page["changes"]]
            if not page["more"]:
                break
            before = pages[-1]
        assert pages == [17, 16, 14, 13, 11, 10, 8, 7, 5, 4, 2]
        others = await history(plant, item="gravity_vector")
        assert [one["rev"] for one in others["changes"]] == [17]
        assert [one["rev"] for one in (await history(plant, item="arm"))["changes"]] == []
        assert len((await history(plant))["changes"]) == 16

    play(tmp_path, scenario)


def test_the_history_tells_what_a_change_found_not_what_was_there_when_it_was_accepted(tmp_path: Path) -> None:
    """Of changes that come at once, what those left that went before; as their events, and longer than these."""

    def told(change: dict[str, Any]) -> tuple[Any, ...]:
        return change["rev"], change["before"], change["after"], change["direction"]

    async def scenario(plant: Plant) -> None:
        limit, slot = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
        for value in (0.1, 0.3):
            sent = plant.send("r1", "SetTwistLinearSoftLimit", {"control_mode": slot, limit: value})
        await plant.reply(sent)
        expected = [(3, 0.1, 0.3, "loosening"), (2, 0.5, 0.1, "tightening")]
        assert [told(one) for one in (await history(plant))["changes"]] == expected
        plant.send("r1", "SetTwistLinearSoftLimit", {"control_mode": slot, limit: 0.2})
        batch = {"items": {limit: {slot: 0.25}, "desired_linear_twist": {"linear": 0.05}}}
        await plant.reply(plant.send("r1", "ApplyConfig", batch))
        found = change_at(plant.store, "r1", 5)
        assert found is not None
        mode = ControlMode.CARTESIAN_JOYSTICK
        effect = Effect(TwistLinearSoftLimit(mode, 0.2), TwistLinearSoftLimit(mode, 0.25))
        assert effects_of(found)[limit, int(mode)] == effect
        await plant.turn(1.0)
        await plant.committed()
        assert (await plant.store.purge(plant.clock.now_us() + 31 * DAY_US)).forgotten
        assert [told(one) for one in (await history(plant))["changes"]][-2:] == expected
        assert change_at(plant.store, "r1", 5) == found

    play(tmp_path, scenario)
