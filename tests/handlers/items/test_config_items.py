import pytest

from handlers.items.checks import CHECKS as ARM_CHECKS
from handlers.items.config_items import CHECKS, kept_by_service
from schema.errors import BrokerError
from schema.fields import fields_of
from schema.items import ITEMS, KINOVA_ITEMS, NUMBER_FIELDS
from tests.handlers.builders import arm


def test_every_item_has_a_check() -> None:
    assert CHECKS.keys() == ITEMS.keys()
    assert ARM_CHECKS.keys() == KINOVA_ITEMS


@pytest.mark.parametrize("key", NUMBER_FIELDS)
def test_every_item_with_a_bound_is_held_to_it(key: str) -> None:
    record, name = ITEMS[key].record, NUMBER_FIELDS[key]
    (field,) = [field for field in fields_of(record) if field.name == name]
    assert CHECKS[key](arm(), record(**{name: (10.0,) * 7 if field.repeated else 0.1})) is not None
    with pytest.raises(BrokerError, match=rf"{name}.*1000000.* hard limit") as caught:
        CHECKS[key](arm(), record(**{name: (1e6,) * 7 if field.repeated else 1e6}))
    assert caught.value.kind == "out_of_limits"


def test_the_service_holds_an_item_unless_the_arm_does() -> None:
    assert not kept_by_service(arm(), "gravity_vector")
    assert kept_by_service(arm(), "joint_limits")
    assert not kept_by_service(arm(arm_items=frozenset({"joint_limits"})), "joint_limits")
