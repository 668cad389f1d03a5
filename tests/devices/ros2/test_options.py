import json
from typing import Any

import pytest

from devices.adapter import AdapterSettingError
from devices.options import read_options
from devices.ros2.adapter import program_of
from devices.ros2.options import Ros2Options, check_options, joint_infos, names_of
from schema.arms import JointInfo


def options(**given: Any) -> Ros2Options:
    return read_options("r12", {"node": "/arm/driver", **given}, Ros2Options)


def test_a_list_is_names_with_commas() -> None:
    assert names_of(" a, b_2 ,,c") == ("a", "b_2", "c")
    assert names_of("") == ()


@pytest.mark.parametrize(
    "given",
    [
        {"node": "driver"},
        {"node": "/arm/"},
        {"node": "/arm/2nd"},
        {"node": "/arm/dri-ver"},
        {"domain": 233},
        {"domain": -2},
        {"discovery": "everywhere"},
        {"silence_s": 0.1},
        {"python": ""},
        {"topic": "x"},
    ],
)
def test_an_option_that_cannot_be_used_is_named(given: dict[str, Any]) -> None:
    with pytest.raises(AdapterSettingError) as refusal:
        options(**given)
    assert refusal.value.option == next(iter(given))


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"joints": "a,b,a"}, "joints"),
        ({"continuous": "a", "prismatic": "a"}, "prismatic"),
        ({"joints": "a", "continuous": "b"}, "continuous"),
        ({"joints": "a", "prismatic": "b"}, "prismatic"),
    ],
)
def test_lists_of_joints_must_not_contradict_each_other(given: dict[str, str], option: str) -> None:
    with pytest.raises(AdapterSettingError, match="arm r12: option") as refusal:
        check_options("r12", options(**given))
    assert refusal.value.option == option


def test_joints_have_the_types_of_the_options() -> None:
    given = options(joints="a,b,c", continuous="a", prismatic="c")
    check_options("r12", given)
    check_options("r12", options(prismatic="a"))
    assert joint_infos(given, ("a", "b", "c")) == (
        JointInfo("a", "continuous"),
        JointInfo("b", ""),
        JointInfo("c", "prismatic"),
    )


def test_how_the_worker_is_started() -> None:
    python, worker, told = program_of("cell.r-12", options(python="/opt/ros/python", domain=7)).argv
    assert python == "/opt/ros/python"
    assert worker.endswith("worker.py")
    assert json.loads(told) == {
        "name": "armbroker_cell_r_12",
        "node": "/arm/driver",
        "domain": 7,
        "discovery": "localhost",
        "silence_s": 2.0,
    }
    assert '"domain": null' in program_of("r12", options()).argv[2]
