"""What a real ROS node declares from our sample files is what we read from them.

Needs a Python with rclpy (`ros-rclpy[fastrtps]`): see `tests/ros_nodes.py`.
"""

import json
import subprocess
from pathlib import Path

import pytest

from limits.formats.ros_yaml import Value, matches, read_parameters, read_sections
from tests.ros_nodes import ros_python

SAMPLES = Path(__file__).with_name("samples")
TYPES = {bool: "BOOL", int: "INTEGER", float: "DOUBLE", str: "STRING"}
OF_THE_NODE = {"use_sim_time", "start_type_description_service"}


def as_ros(value: Value) -> list[str]:
    """Return type and value as the node prints them."""
    if isinstance(value, tuple):
        return [f"{TYPES[type(value[0])]}_ARRAY", repr(list(value))]
    return [TYPES[type(value)], repr(value)]


def declared(sample: str) -> dict[str, list[str]]:
    """Return what the node /arm/driver declares from a sample."""
    program = Path(__file__).with_name("declare_with_rclpy.py")
    command = [ros_python(), str(program), str(SAMPLES / sample), "driver", "/arm"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, list[str]] = json.loads(output.splitlines()[-1])
    return {name: value for name, value in found.items() if name not in OF_THE_NODE}


@pytest.mark.parametrize("sample", ["hard.yaml", "soft.yaml", "scalars.yaml"])
def test_a_real_node_declares_what_we_read(sample: str) -> None:
    text = (SAMPLES / sample).read_text(encoding="utf-8")
    values = read_parameters(text, "/arm/driver", compat=True).values
    assert {name: as_ros(value) for name, value in values.items()} == declared(sample)


def test_a_real_node_takes_the_sections_that_match() -> None:
    sections = read_sections((SAMPLES / "nodes.yaml").read_text(encoding="utf-8"))
    values = [one.values for one in sections if matches(one.node, "/arm/driver")]
    assert {name for given in values for name in given} == set(declared("nodes.yaml"))
