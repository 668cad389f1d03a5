import pytest

from handlers.compare.views import ground_of, values_of
from handlers.state.overrides import Overrides
from schema.codecs.items_form import VALUE_SLOTS
from schema.envelope import View
from schema.errors import BrokerError
from tests.handlers.builders import arm, linear, never_read, values

GRAVITY, TWIST = ("gravity_vector", 0), ("twist_linear_soft_limit", 2)


def test_the_control_mode_is_no_part_of_a_configuration() -> None:
    assert set(values_of(arm(), View.REPORTED)) == set(values_of(arm(), View.GROUND)) == set(VALUE_SLOTS)


def test_an_arm_has_what_it_reports_and_what_is_desired() -> None:
    state = arm(reported=values() | {TWIST: linear(0.1)}, desired=values() | {TWIST: linear(0.2)})
    assert values_of(state, View.REPORTED)[TWIST] == linear(0.1)
    assert values_of(state, View.DESIRED)[TWIST] == values_of(state, View.GROUND)[TWIST] == linear(0.2)
    assert ground_of(state, TWIST) == linear(0.1)


def test_an_override_lies_on_its_ground() -> None:
    state = arm(reported=values() | {TWIST: linear(0.1)}, desired=values() | {TWIST: linear(0.1)})
    state.overrides = Overrides({TWIST: linear(0.25)})
    assert values_of(state, View.REPORTED)[TWIST] == values_of(state, View.DESIRED)[TWIST] == linear(0.1)
    assert values_of(state, View.GROUND)[TWIST] == ground_of(state, TWIST) == linear(0.25)
    assert ground_of(state, GRAVITY) == values()[GRAVITY]


@pytest.mark.parametrize("view", View)
def test_an_arm_that_was_never_read_has_no_values(view: View) -> None:
    with pytest.raises(BrokerError, match=r"^r12 was never read"):
        values_of(never_read(), view)
    assert ground_of(never_read(), TWIST) is None
