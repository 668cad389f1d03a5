"""The interface of adapters: what is there where there is no MQTT server."""

from pathlib import Path

import pytest

from devices.adapter import AdapterSettingError, ArmAwayError, ArmTimeoutError, ArmUnreadableError, FleetContext


class _Listener:
    def heard(self, leaf: str, payload: bytes, *, retained: bool) -> None:
        raise AssertionError((leaf, payload, retained))

    def bus_changed(self, *, up: bool) -> None:
        raise AssertionError(up)


def test_without_an_mqtt_server_no_arm_can_be_listened_to_by_name(tmp_path: Path) -> None:
    bus = FleetContext(tmp_path).bus
    with pytest.raises(AdapterSettingError, match="arm r12: its adapter needs an MQTT server"):
        bus.listen("r12", _Listener())
    with pytest.raises(ArmAwayError, match="r12"):
        bus.publish("r12", "cmd", b"{}")
    bus.forget("r12")


def test_an_unreadable_answer_leaves_the_outcome_unknown_as_a_missing_one_does() -> None:
    assert issubclass(ArmUnreadableError, ArmTimeoutError)
