"""Replies that are remembered and found again."""

import json
from pathlib import Path
from typing import Any

from broker.record.replies import JSON, error_body, from_outcome
from broker.store.job import opened
from schema.envelope import ErrorBody, Reply, Stage, Violation, Warned
from schema.errors import BrokerError
from schema.messages import Empty, GravityVector
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}


def value(limit: float) -> dict[str, Any]:
    """Params of the Set."""
    return {**MODE, "twist_linear_soft_limit": limit}


def reply(**given: Any) -> Reply:
    """A reply."""
    values: dict[str, Any] = {
        "id": "1", "arm": "r1", "method": "ResetGravityVector", "ok": True, "stage": Stage.APPLIED, "final": True,
        "rev": 2, "seq": 1, "at_us": 1_800_000_000_000_000, **given,
    }  # fmt: skip
    return Reply(**values)


def test_a_remembered_reply_comes_back_as_it_was() -> None:
    violation = Violation("x[1]", 80.0, 70.0, "deg/s", "<=", "hard:device", 2, "joint_2", (70.0,))
    error = BrokerError("out_of_limits", "too much", violations=(violation,))
    for given in (
        reply(result=GravityVector(0.0, 0.0, -9.8), warnings=(Warned("ROUNDED", "text", "x"),)),
        reply(method="SetGravityVector", result=Empty()),
        reply(method="SimFault", result={}),
    ):
        assert from_outcome(JSON.encode_reply(given), given.method) == given
    refused = reply(ok=False, stage=Stage.REFUSED, error=error_body(error))
    again = from_outcome(JSON.encode_reply(refused), refused.method)
    assert isinstance(again.error, ErrorBody)
    assert (again.error.kind, again.error.message, again.error.sub_code) == (
        "out_of_limits",
        "too much",
        error.sub_code,
    )
    assert JSON.encode_reply(again) == JSON.encode_reply(refused)


GAINS = {"gains": {"p": 1.0}}
REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    (SET, value(0.25)),
    (SET, value(0.25)),
    (SET, value(0.123_456_789)),
    (SET, value(99.0)),
    ("SetJointSpeedSoftLimits", {"control_mode": "ANGULAR_TRAJECTORY", "joint_speed_soft_limits": [13.0] * 7}),
    ("SetPayloadInformation", {"payload_mass": 0.5}),
    ("ResetTwistLinearSoftLimit", MODE),
    ("SetJointSafety", {"joints": {"joint_2": GAINS}}),
    ("ApplyConfig", {"items": {"gravity_vector": {"x": 0.0, "y": 0.0, "z": -9.7}}}),
)


def test_the_store_tells_each_reply_as_it_was_given(tmp_path: Path) -> None:
    """Whether it holds it, or the reply says what the row does."""

    async def scenario(plant: Plant) -> None:
        for method, params in REQUESTS:
            await plant.call("r1", method, params)
            await plant.committed()
        told = [each for each in plant.link.published if each.topic.startswith("res/")]
        assert len(told) == len(REQUESTS)
        for each in told:
            row = plant.store.find("u", "c", each.topic.rpartition("/")[2])
            assert row is not None
            assert json.dumps(json.loads(row.outcome)) == json.dumps(each.document)
        blobs = plant.store._connection.execute("SELECT reply FROM job WHERE key <> 0 ORDER BY n")
        whole = [isinstance(opened(blob)[2], bytes) for (blob,) in blobs]
        assert whole == [False, False, False, True, False, False, True, True, True]
        warned = [[warning["name"] for warning in each.document["warnings"]] for each in told]
        assert warned[4] == ["ROUNDED"]

    play(tmp_path, scenario)


def test_in_force_follows_the_slot(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        async def in_force(request_id: str, limit: float) -> bool:
            again = await plant.call("r1", SET, value(limit), id=request_id)
            found: bool = again["in_force"]
            return found

        await plant.call("r1", SET, value(0.3), id="a")
        assert await in_force("a", 0.3) is True
        await plant.call("r1", SET, value(0.2), id="b")
        assert (await in_force("a", 0.3), await in_force("b", 0.2)) == (False, True)
        await plant.call("r1", SET, value(0.3), id="c")
        assert (await in_force("a", 0.3), await in_force("b", 0.2), await in_force("c", 0.3)) == (False, False, True)
        await plant.fault("r1", "refuse")
        refused = await plant.call("r1", SET, value(0.2), id="d")
        assert refused["error"]["kind"] == "arm_refused"
        assert (await in_force("d", 0.2), await in_force("c", 0.3)) == (False, False)

    play(tmp_path, scenario)
