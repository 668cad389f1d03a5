"""A simulated arm that behaves like the firmware of a Kinova Gen3."""

from devices.simulated.arm import SimulatedArm, SimulatedFleet
from devices.simulated.store import SimulatedStore

__all__ = ["SimulatedArm", "SimulatedFleet", "SimulatedStore"]
