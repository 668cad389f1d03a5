"""Each campaign in short, and with its defect."""

import pytest

from tests.campaigns.defects import DEFECTS
from tests.campaigns.table import CAMPAIGNS

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_nothing_is_wrong(name: str) -> None:
    row = CAMPAIGNS[name]
    figures = row.run(row.short, 1, "")
    assert figures.wrong == []
    assert figures.trials == row.short


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_its_defect_is_found(name: str) -> None:
    row = CAMPAIGNS[name]
    assert row.run(row.short, 1, row.control).wrong


def test_every_defect_belongs_to_a_campaign() -> None:
    assert {row.control for row in CAMPAIGNS.values()} == set(DEFECTS)
    assert all(0 < row.short <= row.trials for row in CAMPAIGNS.values())
