"""Reports, written and read."""

import pytest

from devices.adapter import ArmChange, LinkState
from devices.mqtt_agent.reports import read_report, write_change, write_readiness
from devices.mqtt_agent.values import SLOTS
from schema.arms import Activity
from schema.items import ITEMS


@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_a_change_of_every_slot_is_read_as_it_was_written(slot: tuple[str, int]) -> None:
    change = ArmChange(ITEMS[slot[0]].event_number, slot, ours=False, connection="pendant")
    report = read_report(write_change(3, 8, change))
    assert (report.session, report.n, report.change, report.ready) == (3, 8, change, None)


def test_an_event_without_an_item_is_read_as_it_was_written() -> None:
    change = ArmChange(1, None, ours=True)
    assert read_report(write_change(3, 8, change)).change == change


def test_readiness_is_read_as_it_was_written() -> None:
    report = read_report(write_readiness(3, 8, LinkState(True, False, "moving")))
    assert (report.change, report.ready, report.why, report.activity) == (None, False, "moving", Activity.UNKNOWN)


@pytest.mark.parametrize("activity", Activity)
def test_what_an_arm_does_is_read_as_it_was_written(activity: Activity) -> None:
    assert read_report(write_readiness(3, 8, LinkState(True, True, activity=activity))).activity is activity


def test_a_word_of_a_newer_protocol_for_what_an_arm_does_says_nothing() -> None:
    assert read_report(b'{"session": 3, "n": 8, "ready": true, "activity": "dancing"}').activity is Activity.UNKNOWN
