from itertools import islice

import pytest

from armbroker.client import counted_ids, random_ids


def test_counted_ids() -> None:
    assert list(islice(counted_ids(7), 2)) == ["7-000001", "7-000002"]


def test_two_runs_do_not_share_ids() -> None:
    assert next(random_ids()) != next(random_ids())


@pytest.mark.parametrize("boot", ["", "a b", "ä", "x" * 41])
def test_a_boot_counter_that_gives_no_id_is_named(boot: str) -> None:
    with pytest.raises(ValueError, match="boot"):
        counted_ids(boot)
