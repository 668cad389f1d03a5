from schema.quantities import JOINT_ACCELERATION, JOINT_SPEED, MASS, TWIST_ANGULAR, TWIST_LINEAR


def test_units_and_angles() -> None:
    assert [JOINT_SPEED, JOINT_ACCELERATION, TWIST_LINEAR, TWIST_ANGULAR, MASS] == [
        ("deg/s", True),
        ("deg/s²", True),
        ("m/s", False),
        ("deg/s", True),
        ("kg", False),
    ]
