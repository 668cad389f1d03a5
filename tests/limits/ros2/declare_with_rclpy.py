"""Print what a real ROS node declares from a parameter file; runs in the environment of ROS, not in ours.

Usage: declare_with_rclpy.py FILE NODE NAMESPACE; the answer is one line of JSON, name to type and repr of the value.
"""

import json
import sys

import rclpy
from rclpy.node import Node


def main() -> None:
    """Start a node with the file, print its parameters, end."""
    file, name, namespace = sys.argv[1:]
    rclpy.init(args=["--ros-args", "--params-file", file])
    node = Node(
        name,
        namespace=namespace,
        automatically_declare_parameters_from_overrides=True,
        start_parameter_services=False,
        enable_rosout=False,
    )
    found = {}
    for key, parameter in node.get_parameters_by_prefix("").items():
        value = parameter.value
        found[key] = [parameter.type_.name, repr(list(value) if parameter.type_.name.endswith("ARRAY") else value)]
    sys.stdout.write(json.dumps(found) + "\n")
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
