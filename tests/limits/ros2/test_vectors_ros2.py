"""Every ros2_control vector, by its runner."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.ros2.limiters import joint_soft_limiter

FILES = (
    "ros2_check_and_swap_limits",
    "ros2_check_for_limits_update",
    "ros2_check_for_soft_limits_update",
    "ros2_compute_acceleration_limits",
    "ros2_compute_effort_limits",
    "ros2_compute_position_limits",
    "ros2_compute_velocity_limits",
    "ros2_is_limited",
    "ros2_range_limiter_sequence",
    "ros2_saturation_limiter_sequence",
    "ros2_soft_limiter_sequence",
    "ros2_soft_predicates",
    "ros2_unit_test_sequences",
    "ros2_update_prev_command",
    "ros2_urdf_limits",
    "ros2_verify_actual_position",
    "ros2_yaml_cases",
)

SPEC = importlib.util.spec_from_file_location("ros2_vectors", Path(__file__).parents[2] / "vectors" / "ros2_vectors.py")
assert SPEC is not None
assert SPEC.loader is not None
RUNNERS_MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(RUNNERS_MODULE)


@pytest.mark.parametrize("name", FILES)
def test_every_vector_passes(vectors_dir: Path, name: str) -> None:
    lines = (vectors_dir / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    vectors = [json.loads(line) for line in lines]
    failures = [(one["id"], reason) for one in vectors if (reason := RUNNERS_MODULE.RUNNERS[one["fn"]](one))]
    assert vectors
    assert not failures


@pytest.mark.parametrize("kind", ["range", "soft"])
def test_by_default_no_recorded_sequence_leaves_a_hard_bound(vectors_dir: Path, kind: str) -> None:
    lines = (vectors_dir / f"ros2_{kind}_limiter_sequence.jsonl").read_text(encoding="utf-8").splitlines()
    steps = 0
    for vector in map(json.loads, lines):
        hard = RUNNERS_MODULE.hard(vector["inputs"]["limits"])
        try:
            limiter = joint_soft_limiter([hard], [RUNNERS_MODULE.soft(vector["inputs"].get("soft"))])
        except LimitsError:
            continue
        for step in vector["inputs"]["steps"]:
            actual, desired = RUNNERS_MODULE.values(step["actual"]), RUNNERS_MODULE.values(step["desired"])
            try:
                answer = limiter.enforce(actual, desired, step["dt_ns"] / 1e9).desired
            except LimitsError:
                continue
            steps += 1
            position, velocity = answer.position, answer.velocity
            if hard.has_position_limits and position is not None and not np.isnan(position[0]):
                assert hard.min_position <= position[0] <= hard.max_position
            if hard.has_velocity_limits and velocity is not None and not np.isnan(velocity[0]):
                assert abs(velocity[0]) <= hard.max_velocity
    assert steps > 500
