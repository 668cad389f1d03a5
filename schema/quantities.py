"""What numbers measure: their unit, and whether they are angles."""

from typing import NamedTuple


class Quantity(NamedTuple):
    """What a number measures: unit text, and whether an arm holds it in radians."""

    unit: str
    angular: bool


JOINT_SPEED = Quantity("deg/s", angular=True)
JOINT_ACCELERATION = Quantity("deg/s²", angular=True)
TWIST_LINEAR = Quantity("m/s", angular=False)
TWIST_ANGULAR = Quantity("deg/s", angular=True)
MASS = Quantity("kg", angular=False)
