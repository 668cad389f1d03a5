"""Short campaigns of kill_workers: a few kills each."""

from pathlib import Path

import pytest

from tests.campaigns.campaign import Size
from tests.campaigns.kill_workers import KINDS, trial
from tests.ros_nodes import ros_python

LIVES_S = (0.5, 1.5)

pytestmark = [pytest.mark.flaky(reruns=0), pytest.mark.long]


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_is_lost_or_doubled(kind: str, tmp_path: Path) -> None:
    of_ros = kind.startswith("ros2")
    if of_ros:
        ros_python()
    size = Size(kills=2, arms=1 if of_ros else 2, clients=3, lives_s=LIVES_S)
    verdict = await trial(kind, tmp_path, 1, size)
    assert verdict.wrong == []
    figures = verdict.figures()
    assert figures["processes killed"] == size.kills
    assert figures["carried out by the arms"] > 0
