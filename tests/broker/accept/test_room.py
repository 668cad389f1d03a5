"""A queue that one user filled, through the whole service."""

from pathlib import Path

from tests.virtual_plant import Plant, play

SET, GRAVITY = "SetTwistLinearSoftLimit", "SetGravityVector"
MODE, ITEM = "CARTESIAN_JOYSTICK", "twist_linear_soft_limit"
LIMIT = 16


def test_a_full_queue_locks_out_nobody_else_and_is_free_again_after(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        for number in range(LIMIT):
            plant.send("r1", GRAVITY, {"z": -9.7 - number / 100}, id=f"m{number}", user="mallory", wait="stored")
        await plant.reply(f"m{LIMIT - 1}", user="mallory")
        refused = await plant.call("r1", GRAVITY, {"z": -9.5}, user="mallory", wait="stored")
        assert refused["error"]["kind"] == "busy"
        tighter = {"control_mode": MODE, ITEM: 0.2}
        assert (await plant.call("r1", SET, tighter, user="mallory", wait="stored"))["error"]["kind"] == "busy"
        for user in ("alice", "bob"):
            reply = await plant.call("r1", GRAVITY, {"z": -9.81}, user=user, wait="stored")
            assert reply["stage"] == "stored", reply
        assert (await plant.call("r1", GRAVITY, {"z": -9.81}, user="carol", wait="stored"))["error"]["kind"] == "busy"
        tightening = plant.send("r1", SET, tighter, user="carol")
        await plant.turn(0.1)
        state = plant.session().state
        assert state.unsettled_of == {"mallory": LIMIT, "alice": 1, "bob": 1, "carol": 1}
        await plant.fault("r1", "none")
        await plant.turn(120.0)
        assert (await plant.reply(tightening, user="carol"))["stage"] == "applied"
        assert (state.unsettled, state.unsettled_of) == (0, {})

    play(tmp_path, scenario, arm_defaults={"queue": LIMIT})
