import pytest

from armbroker.board.facts import ArmRow
from armbroker.board.listing import SORTS, listed, summary

ROWS = [
    ArmRow("r2", presence="online", ready=True, mode="IDLE", model="gen3_7dof"),
    ArmRow("r10", presence="offline", pending=2, waits="held", drift=1),
    ArmRow("r1", presence="online", ready=True, mode="CARTESIAN_JOYSTICK", lock="bob/c", drift=3),
    ArmRow("r3", presence="held", why="another serial"),
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["r1", "r10", "r2", "r3"]),
        ("r1", ["r1", "r10"]),
        ("OFFLINE", ["r10"]),
        ("online idle", ["r2"]),
        ("attention", ["r1", "r10", "r3"]),
        ("locked differs", ["r1"]),
        ("pending held", ["r10"]),
        ("serial", ["r3"]),
        ("nothing", []),
    ],
)
def test_every_word_has_to_be_there(text: str, found: list[str]) -> None:
    assert [row.id for row in listed(ROWS, text)] == found


@pytest.mark.parametrize(
    ("sort", "first"),
    [("arm", "r1"), ("presence", "r3"), ("mode", "r10"), ("pending", "r10"), ("drift", "r1"), ("model", "r1")],
)
def test_what_wants_looking_at_stands_first(sort: str, first: str) -> None:
    assert listed(ROWS, sort=sort)[0].id == first


def test_every_column_sorts_both_ways() -> None:
    for sort in SORTS:
        assert {row.id for row in listed(ROWS, sort=sort, down=True)} == {row.id for row in ROWS}
    assert listed(ROWS, sort="drift", down=True)[-1].id == "r1"


def test_the_summary_counts() -> None:
    assert summary(ROWS) == {
        "arms": 4,
        "online": 2,
        "offline": 1,
        "unknown": 0,
        "held": 1,
        "pending": 1,
        "differs": 2,
        "locked": 1,
        "overrides": 0,
        "overdue": 0,
    }
