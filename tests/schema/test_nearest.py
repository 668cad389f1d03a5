"""The name that somebody may have meant."""

import pytest

from schema.nearest import MOST, did_you_mean, nearest

METHODS = ("SetGravityVector", "GetGravityVector", "ResetGravityVector", "SetControlMode")


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("setgravityvector", METHODS, "SetGravityVector"),
        ("SetGravityVectr", METHODS, "SetGravityVector"),
        ("SetControlmode", METHODS, "SetControlMode"),
        ("r21", ("r12", "r13", "cell-1"), "r12"),
        ("R12", ("r12", "r1"), "r12"),
        ("CARTESIAN_JOISTICK", ("CARTESIAN_JOYSTICK", "IDLE"), "CARTESIAN_JOYSTICK"),
        ("Dance", METHODS, ""),
        ("", METHODS, ""),
        ("x" * 60_000, METHODS, ""),
        ("r12", (), ""),
    ],
)
def test_the_nearest_name(name: str, known: tuple[str, ...], expected: str) -> None:
    assert nearest(name, known) == expected


def test_words_of_a_refusal() -> None:
    assert did_you_mean("r21", ["r12"]) == "; did you mean 'r12'?"
    assert did_you_mean("wholly other", ["r12"]) == ""


def test_only_so_many_names_are_looked_at() -> None:
    names = [f"arm-{number:05d}" for number in range(MOST + 1)]
    assert nearest(names[-2].upper(), names) == names[-2]
    assert nearest(names[-1].upper(), names) != names[-1]
