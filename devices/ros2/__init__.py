"""Arms whose joint limits are the parameters of a ROS 2 node."""
