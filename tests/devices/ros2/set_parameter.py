"""Another ROS node that sets one parameter of a node; runs in the environment of ROS, not in ours.

Usage: set_parameter.py NODE NAME NUMBER; prints a list with the reason of the refusal, empty when it was set.
"""

import json
import sys

import rclpy
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient


def main() -> None:
    """Set it, end."""
    node_name, name, number = sys.argv[1:]
    rclpy.init()
    node = rclpy.create_node("somebody", start_parameter_services=False, enable_rosout=False)
    client = AsyncParameterClient(node, node_name)
    client.wait_for_services()
    future = client.set_parameters([Parameter(name, value=float(number))])
    rclpy.spin_until_future_complete(node, future)
    sys.stdout.write(json.dumps([one.reason for one in future.result().results]) + "\n")
    sys.stdout.flush()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
