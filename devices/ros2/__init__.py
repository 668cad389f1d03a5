"""Arms whose joint limits are the parameters of a ROS 2 node."""

from devices.ros2.adapter import Ros2Arm, Ros2Fleet

__all__ = ["Ros2Arm", "Ros2Fleet"]
