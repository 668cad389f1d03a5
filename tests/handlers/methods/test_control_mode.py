import pytest

from schema.arms import Verb
from schema.enums import ControlMode
from schema.envelope import View
from schema.errors import BrokerError
from schema.messages import ControlModeInformation
from tests.handlers.builders import answer, arm, never_read, propose

MODE = ("control_mode", 0)
CARTESIAN = ControlModeInformation(ControlMode.CARTESIAN_JOYSTICK)


def test_the_mode_last_seen_comes_with_when() -> None:
    found = answer(arm(), "GetControlMode")
    assert found.result == ControlModeInformation(ControlMode.ANGULAR_JOYSTICK)
    assert (found.mode_seen_at_us, found.reported_at_us) == (2_000_000, 1_000_000)


def test_the_desired_mode_is_told_where_it_differs() -> None:
    state = arm()
    state.desired[MODE] = CARTESIAN
    assert answer(state, "GetControlMode").desired == CARTESIAN
    assert answer(state, "GetControlMode", view=View.DESIRED).result == CARTESIAN


def test_the_mode_of_an_arm_that_was_never_read_is_unknown() -> None:
    with pytest.raises(BrokerError) as caught:
        answer(never_read(), "GetControlMode")
    assert caught.value.kind == "arm_not_read"


def test_a_mode_request_is_a_change_of_the_mode() -> None:
    found = propose(arm(), "SetControlMode", CARTESIAN)
    assert (found.slot, found.verb, found.value, found.unchanged) == (MODE, Verb.SET, CARTESIAN, False)


def test_the_mode_that_is_there_already_is_unchanged() -> None:
    assert propose(arm(), "SetControlMode", ControlModeInformation(ControlMode.ANGULAR_JOYSTICK)).unchanged


@pytest.mark.parametrize(
    ("changes", "kind"),
    [({"online": False}, "arm_away"), ({"ready": False}, "arm_not_ready"), ({"distrust": "x"}, "held")],
)
def test_a_mode_request_of_an_arm_that_cannot_take_it_is_refused(changes: dict[str, object], kind: str) -> None:
    with pytest.raises(BrokerError) as caught:
        propose(arm(**changes), "SetControlMode", CARTESIAN)
    assert caught.value.kind == kind
