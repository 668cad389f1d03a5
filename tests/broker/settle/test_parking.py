"""Where a change that waited takes its place in the queue; the whole of waiting is in tests/journey/test_pending.py."""

from pathlib import Path
from typing import Any

from broker.arms.jobs import ChangeJob
from devices.adapter import LinkState
from tests.broker.settle.test_settler import GRAVITY, ITEM, SET, commands, value
from tests.virtual_plant import Plant, play


def tell(plant: Plant, *, ready: bool) -> None:
    """Arm r1 says whether it takes changes."""
    adapter: Any = plant.session().adapter
    adapter._sink(LinkState(online=True, ready=ready))


def queued(plant: Plant) -> list[tuple[str, int]]:
    """Items and revisions of the changes in the queue of arm r1, in order."""
    return [(job.slot[0], job.rev) for job in plant.session().jobs if isinstance(job, ChangeJob)]


def test_a_tightening_goes_before_what_waits_but_never_before_an_older_change_of_its_slot(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "delay", delay_ms=400)
        requests = [plant.send("r1", SET, value(0.3)), plant.send("r1", "SetGravityVector", GRAVITY)]
        requests.append(plant.send("r1", SET, value(0.25)))
        requests.append(plant.send("r1", "SetPayloadInformation", {"payload_mass": 1.0}))
        await plant.turn(0.2)
        tell(plant, ready=False)
        for method, params in ((SET, value(0.2)), ("SetDesiredLinearTwist", {"linear": 0.05})):
            assert (await plant.call("r1", method, params))["stage"] == "stored"
        assert [job.rev for job in plant.session().parked] == [6, 7]
        tell(plant, ready=True)
        assert (await plant.reply(requests[0]))["stage"] == "applied"
        await plant.turn(0.6)
        order = queued(plant)
        assert order.index((ITEM, 6)) == order.index((ITEM, 4)) + 1
        assert order.index(("desired_linear_twist", 7)) < order.index((ITEM, 4))
        for request in requests[1:]:
            assert (await plant.reply(request))["stage"] == "applied"
        await plant.turn(60.0)
        state = plant.session().state
        assert state.desired == state.reported
        assert len(commands(tmp_path, ITEM)) == 3

    play(tmp_path, scenario)


def test_what_has_a_command_number_is_not_overtaken(tmp_path: Path) -> None:
    """A lower number after a higher one would be refused by the arm."""

    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "delay", delay_ms=400)
        first = plant.send("r1", "SetGravityVector", GRAVITY)
        second = plant.send("r1", "SetPayloadInformation", {"payload_mass": 1.0})
        await plant.turn(0.2)
        tell(plant, ready=False)
        assert (await plant.call("r1", SET, value(0.2), id="a"))["stage"] == "stored"
        tell(plant, ready=True)
        for request in (first, second):
            assert (await plant.reply(request))["stage"] == "applied"
        await plant.turn(60.0)
        numbers = [
            pair[1] for key in ("gravity_vector", "payload_information", ITEM) for pair in commands(tmp_path, key)
        ]
        assert sorted(numbers) == [1, 2, 3]
        assert (await plant.call("r1", SET, value(0.2), id="a"))["stage"] == "applied"

    play(tmp_path, scenario)
