import pytest

from armbroker.board.facts import ArmFacts
from armbroker.board.overrides import countdown, left_s, overrides_of
from schema.codecs.times import parse_time
from tests.armbroker.board.documents import AT, config, override, presence

NOW_S = parse_time(AT) / 1e6


def test_what_ends_first_stands_first() -> None:
    found = overrides_of(config(overrides=[override(2, "2026-12-01T00:00:00Z"), override(3, AT), "nonsense"]))
    assert [each.rev for each in found] == [3, 2]
    assert (found[0].paths, found[0].ground) == (
        ["twist_linear_soft_limit/CARTESIAN_JOYSTICK"], {"twist_linear_soft_limit/CARTESIAN_JOYSTICK": 0.25}
    )  # fmt: skip


def test_the_line_of_an_arm_says_when_the_next_ends_and_what_is_overdue() -> None:
    facts = ArmFacts("r1")
    facts.take("presence", presence())
    facts.take("config", config(overrides=[override(2, AT), override(3, "2027", state="overdue")]))
    assert (facts.row.overrides, facts.row.ends, facts.row.overdue, facts.row.calm) == (2, AT, 1, False)
    facts.take("config", config(recipe={"name": "weld", "version": 3, "drift": ["gravity_vector"]}))
    assert (facts.row.overrides, facts.row.ends) == (0, "")
    assert (facts.row.recipe, facts.row.recipe_drift, facts.row.calm) == ("weld@3", 1, True)


@pytest.mark.parametrize(
    ("ahead_s", "said"),
    [
        (0.0, "over"), (-5.0, "over"), (0.4, "0 s"), (9.2, "9 s"), (60.0, "1 min 0 s"), (3_599.0, "59 min 59 s"),
        (3_600.0, "1 h 0 min"), (100_000.0, "1 d 3 h"),
    ],
)  # fmt: skip
def test_a_countdown_has_two_units_at_most(ahead_s: float, said: str) -> None:
    assert countdown(AT, NOW_S - ahead_s) == said


def test_a_time_without_a_zone_is_utc_and_what_is_none_has_no_countdown() -> None:
    assert left_s("2026-11-30T09:12:05.512345", NOW_S) == pytest.approx(1.0)
    assert (left_s("soon", NOW_S), countdown("soon", NOW_S)) == (None, "-")
