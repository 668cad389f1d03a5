"""Kinova Gen3 and Gen3 lite arms, through the vendor's client in a worker process."""

from devices.kortex.adapter import KortexArm, KortexFleet

__all__ = ["KortexArm", "KortexFleet"]
