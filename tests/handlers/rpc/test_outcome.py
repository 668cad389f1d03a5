import pytest

from handlers.rpc.outcome import Proposal
from schema.arms import Verb


@pytest.mark.parametrize(
    ("loosening", "unchanged", "tightens"),
    [(False, False, True), (True, False, False), (False, True, False)],
)
def test_a_change_tightens_where_something_does_and_nothing_gets_looser(
    loosening: bool, unchanged: bool, tightens: bool
) -> None:
    assert Proposal(("gravity_vector", 0), Verb.RESET, None, loosening, unchanged).tightens is tightens
