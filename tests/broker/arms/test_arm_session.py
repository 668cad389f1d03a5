from itertools import permutations
from pathlib import Path

from schema.enums import ControlMode
from schema.messages import TwistLinearSoftLimit
from tests.broker.settle.test_obstacles import SLOT, job
from tests.virtual_plant import Plant, play


def test_what_is_accepted_counts_until_it_ends_in_whatever_order(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session("r1")
        state, slot = session.state, SLOT
        for order in permutations(range(4)):
            wanted = [TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.1 * (n + 1)) for n in range(4)]
            jobs = [job(n=n, rev=n + 2, wanted=one) for n, one in enumerate(wanted)]
            for one in jobs:
                session.count_in(one)
            left = [*wanted]
            assert [value for value, _ in state.unread[slot]] == left
            for number in order:
                session.count_out(jobs[number])
                left.remove(wanted[number])
                assert [value for value, _ in state.unread.get(slot, ())] == left
                assert state.open.get(slot, 0) == len(left)
            assert slot not in state.unread

    play(tmp_path, scenario, arms=("r1",))
