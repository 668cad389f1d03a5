from typing import Any

import msgspec
import pytest

from broker.settings.conversion import conversion_faults
from broker.settings.places import Fault
from broker.settings.records import Settings


@pytest.mark.parametrize(
    ("document", "faults"),
    [
        ({}, []),
        ({"rot": "x", "root": 1}, [
            Fault(("root",), "root: expected `str`, got `int`"),
            Fault(("rot",), "rot: no such setting; known here are root, instance,"),
        ]),
        ({"arm": {}}, [Fault(("arm",), "arm: expected `array`, got `object`")]),
        ({"arm": [{}, 3, {"id": "r"}]}, [
            Fault(("arm", 0), "arm[0].id: missing"),
            Fault(("arm", 1), "arm[1]: expected a table, got 3"),
        ]),
        ({"arm": [{"id": "r", "options": {"x y": [1]}}]}, [
            Fault(("arm", 0, "options", "x y"), 'arm[0].options."x y": expected `bool | int |'),
        ]),
        ({"arm": [{"id": "r", "site_caps": {"velocity": [1, 2, "3"]}}]}, [
            Fault(("arm", 0, "site_caps", "velocity", 2), "arm[0].site_caps.velocity[2]: expected `float`, got `str`"),
        ]),
        ({"clients": {"a": {"arms": ["r", 1]}, "b": 1}}, [
            Fault(("clients", "a", "arms", 1), "clients.a.arms[1]: expected `str`, got `int`"),
            Fault(("clients", "b"), "clients.b: expected a table, got 1"),
        ]),
    ],
)  # fmt: skip
def test_everything_is_told_with_its_place(document: Any, faults: list[Fault]) -> None:
    found = sorted(conversion_faults(document, Settings), key=lambda fault: tuple(map(str, fault.path)))
    assert [fault.path for fault in found] == [fault.path for fault in faults]
    for fault, wanted in zip(found, faults, strict=True):
        assert fault.text.startswith(wanted.text)


class Inner(msgspec.Struct):
    number: int


def test_records_that_may_be_absent_are_looked_into_too() -> None:
    [fault] = conversion_faults({"number": "x"}, Inner | None, ("a",))
    assert fault == Fault(("a", "number"), "a.number: expected `int`, got `str`")
