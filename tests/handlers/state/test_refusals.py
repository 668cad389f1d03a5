import pytest

from handlers.state.refusals import description_of, listing, not_read, number, origin, out_of_limits, refusal
from limits.bounds import Excess
from schema.envelope import Violation
from schema.errors import BrokerError
from schema.quantities import JOINT_SPEED
from tests.handlers.builders import arm, description, never_read


@pytest.mark.parametrize(
    ("value", "words"),
    [(80.0, "80"), (0.5002, "0.5002"), (1e-6, "1e-06"), (297.94, "297.94"), (1.0000001, "1.0000001")],
)
def test_a_number_is_written_as_short_as_it_can_be(value: float, words: str) -> None:
    assert number(value) == words


def test_numbers_are_written_as_a_list() -> None:
    assert listing((80.0, 0.5)) == "[80, 0.5]"
    assert listing(()) == "[]"


def test_an_arm_that_was_never_read_is_not_described() -> None:
    assert description_of(arm()) == description()
    with pytest.raises(BrokerError) as caught:
        description_of(never_read())
    assert caught.value.message == not_read(never_read()).message
    assert (caught.value.kind, caught.value.name) == ("arm_not_read", "DEVICE_NOT_READY")


def test_an_arm_whose_rows_are_damaged_is_held() -> None:
    error = not_read(never_read(damaged=True, distrust="rows of it are damaged"))
    assert (error.kind, error.message) == ("held", "r12 is held: rows of it are damaged. Nothing was changed.")


def test_the_first_excess_gives_the_refusal_its_name() -> None:
    above, below = Excess(0, 90.0, 80.0, above=True), Excess(1, -1.0, 0.0, above=False)
    error = out_of_limits(arm(), "speed", [above, below], JOINT_SPEED, (80.0, 0.0), ("hard:device", "application"))
    assert error.name == "VALUE_IS_ABOVE_MAXIMUM"
    assert [violation.relation for violation in error.violations] == ["<=", ">="]
    assert [violation.source for violation in error.violations] == ["hard:device", "rule:minimum"]


def test_a_refusal_without_a_nearest_value_suggests_none() -> None:
    error = refusal([Violation("soft_lower_limit", 2.0, 1.0, "rad", "<=", "rule:range")], "the other end of the range")
    assert error.message == "soft_lower_limit: 2 rad > 1 rad, the other end of the range. Nothing was changed."


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("hard:device", "hard limit read from r12"),
        ("hard:profile", "hard limit of the profile of r12"),
        ("urdf:gen3.urdf", "limit of the URDF gen3.urdf"),
        ("ros:limits.yaml", "limit of the ROS parameters limits.yaml"),
        ("skeleton:gen3.pb#soft", "limit of the skeleton gen3.pb#soft"),
        ("application", "application limit of r12"),
        ("policy:site", "cap of the site"),
        ("rule:range", "the other end of the range"),
    ],
)
def test_sources_in_words(source: str, words: str) -> None:
    assert origin(arm(), source) == words
