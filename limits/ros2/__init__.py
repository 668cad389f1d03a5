"""ros2_control joint limits: records, parameters, URDF, helpers and the three limiters."""
