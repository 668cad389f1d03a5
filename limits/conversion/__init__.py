"""Conversion of joint limits between URDF, ROS parameters, intrinsic JointLimits and Skeleton, and Kinova's message."""
