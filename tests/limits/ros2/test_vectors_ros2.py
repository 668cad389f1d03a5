"""Every ros2_control vector, by its runner."""

import importlib.util
import json
from pathlib import Path

import pytest

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
