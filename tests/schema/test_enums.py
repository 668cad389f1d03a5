import enum
from typing import Any

import pytest

from schema import enums
from schema.proto.kinova import common_pb2, control_config_pb2


@pytest.mark.parametrize(
    ("ours", "generated", "count"),
    [
        (enums.ControlMode, control_config_pb2.ControlMode, 12),
        (enums.ControlConfigurationEvent, control_config_pb2.ControlConfigurationEvent, 21),
        (enums.ServiceVersion, control_config_pb2.ServiceVersion, 2),
        (enums.CartesianReferenceFrame, common_pb2.CartesianReferenceFrame, 4),
        (enums.NotificationType, common_pb2.NotificationType, 4),
    ],
)
def test_names_and_numbers_are_those_of_the_proto(ours: type[enum.IntEnum], generated: Any, count: int) -> None:
    assert {member.name: member.value for member in ours} == dict(generated.items())
    assert len(ours) == count


def test_numbers_without_a_name_in_any_current_revision() -> None:
    assert {3, 9}.isdisjoint(enums.ControlMode)
    assert {3, 15}.isdisjoint(enums.ControlConfigurationEvent)


def test_permission_bits() -> None:
    assert [bit.value for bit in enums.Permission] == [1, 2, 4]
    assert enums.Permission.READ | enums.Permission.UPDATE == 3
