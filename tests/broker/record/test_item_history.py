from pathlib import Path
from typing import Any

from tests.virtual_plant import Plant, play

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
