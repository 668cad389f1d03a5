"""What the judge of flipped bits takes for wrong."""

from pathlib import Path

import pytest

from broker.store.rows import PastChange
from broker.store.store import Store
from tests.campaigns.flips import Given, Judge


def entry(rev: int, seq: int, after: bytes) -> PastChange:
    """An entry of the history."""
    return PastChange(
        arm="r1", rev=rev, seq=seq, at_us=1, settled_at_us=1, user="u", conn="c", proven=True, request_id="1",
        method="M", key="lock", mode=0, before=None, after=after, reason="", state="settled", outcome="applied",
    )  # fmt: skip


CHANGE, ACT = entry(5, 5, b"0.2"), entry(5, 6, b"{}")
"""A change, and an act of administration at the revision that it found."""


@pytest.fixture
def told(tmp_path: Path) -> Given:
    """What an empty store gives, with a history."""
    store = Store.open(tmp_path, lambda: 1)
    loaded = store.load()
    store.close()
    return Given(loaded, history={"r1": {(5, 5): CHANGE, (5, 6): ACT}}, lost_revs={"r1": set()})


@pytest.mark.parametrize(
    ("history", "lost", "wrong"),
    [
        ({(5, 5): CHANGE, (5, 6): ACT}, set(), []),
        ({(5, 6): ACT}, {5}, []),
        ({(5, 6): ACT}, set(), ["revisions [5] are lost"]),
        ({(5, 5): entry(5, 5, b"0.3"), (5, 6): ACT}, set(), ["rev 5 is untrue"]),
        ({(5, 5): CHANGE, (5, 6): CHANGE}, set(), ["rev 5 is untrue"]),
    ],
)
def test_a_change_and_an_act_of_one_revision_are_two(
    told: Given, history: dict[tuple[int, int], PastChange], lost: set[int], wrong: list[str]
) -> None:
    judge = Judge(told)
    judge._pages(Given(told.loaded, history={"r1": history}, lost_revs={"r1": lost}))
    assert len(judge.wrong) == len(wrong)
    assert all(part in text for part, text in zip(wrong, judge.wrong, strict=True))
