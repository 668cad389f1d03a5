"""What `svc/<instance>` tells of the metrics: all of them, and never much."""

import json
from pathlib import Path
from typing import Any

from broker.metrics.summary import LEFT_OUT, TOLD_BY
from broker.metrics.table import METRICS
from broker.presence.document import OFFLINE, ONLINE, STARTING
from handlers.rpc_table import RPC_TABLE
from schema.errors import ERRORS
from tests.virtual_plant import Plant, play

LARGEST = 4_000
TWIST = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1}


async def told(plant: Plant) -> Any:
    """The metrics of the document as it is now."""
    await plant.service.reading.count_arms()
    return json.loads(plant.service._presence.identity.payload(ONLINE))["metrics"]


def test_it_tells_all(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "SetTwistLinearSoftLimit", TWIST)
        await plant.call("r1", "GetGravityVector")
        await plant.call("r2", "GetGravityVector")
        metrics = await told(plant)
        assert metrics.keys() == METRICS.keys() - LEFT_OUT
        assert metrics["requests_total"] == {"applied": 1, "read": 2}
        assert metrics["arms"] == {"online": 2, "offline": 0, "held": 0, "unknown": 0}
        assert metrics["ready"] == 1
        assert metrics["stage_seconds"]["arm"].keys() == {"count", "sum", "p50", "p99"}
        assert metrics["stage_seconds"]["arm"]["count"] == 1

    play(tmp_path, scenario)


def test_it_is_bounded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        traffic = plant.service._ledger.traffic
        for kind in ERRORS:
            for user in range(100):
                traffic.refusals[f"user-{user}", kind] = 10**9
        for method in RPC_TABLE:
            for outcome in ("refused", "read", "checked", "stored", "applied", "open"):
                traffic.answers[method, outcome, "protobuf"] = 10**9
        for _ in range(100):
            for name in plant.service._counters.totals():
                plant.service._counters.add(name, n=10**9)
        payload = plant.service._presence.identity.payload(ONLINE)
        assert 2_000 < len(payload) <= LARGEST

    play(tmp_path, scenario)


def test_only_a_service_that_is_online_tells_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        identity = plant.service._presence.identity
        for state in (STARTING, OFFLINE):
            assert "metrics" not in json.loads(identity.payload(state))
        short = json.loads(identity.payload(ONLINE, 1_000))
        assert "metrics" not in short
        assert short["counters"]

    play(tmp_path, scenario)


def test_labels_that_are_told_are_those_of_their_metric() -> None:
    several = {name for name, metric in METRICS.items() if len(metric.labels) > 1}
    assert TOLD_BY.keys() == several - LEFT_OUT
    assert all(label in METRICS[name].labels for name, label in TOLD_BY.items())
    assert METRICS.keys() >= LEFT_OUT
