"""Each campaign in short, and with its defect."""

import re

import pytest

from tests.campaigns.defects import DEFECTS
from tests.campaigns.table import CAMPAIGNS
from tests.mosquitto import ROOT

pytestmark = [pytest.mark.timeout(900), pytest.mark.long, pytest.mark.flaky(reruns=0)]
"""What a campaign finds once is found: it is not tried again."""
LOOKS = 4
"""A control is looked at so often over its trials: what it finds first is enough."""
TRIES = 60
"""A control that chance let pass is tried with another seed, so often that chance cannot let it pass for good."""


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_nothing_is_wrong(name: str) -> None:
    row = CAMPAIGNS[name]
    figures = row.run(row.short, 1, "")
    assert not figures.wrong, "\n".join(figures.wrong)
    assert figures.trials == row.short


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_its_defect_is_found(name: str) -> None:
    row = CAMPAIGNS[name]
    part = -(-row.short // LOOKS)
    assert any(row.run(part, seed, row.control).wrong for seed in range(1, TRIES + 1))


def test_every_defect_belongs_to_a_campaign() -> None:
    assert {row.control for row in CAMPAIGNS.values()} == set(DEFECTS)
    assert all(0 < row.short <= row.trials for row in CAMPAIGNS.values())


def test_the_page_has_each_campaign_and_names_only_what_there_is() -> None:
    page = (ROOT / "docs" / "robustness.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|.*`scripts/campaign (\w+)[^`]*` \|$", page, re.MULTILINE)
    assert sorted(rows) == sorted((name, name) for name in CAMPAIGNS)
    named = set(re.findall(r"`((?:tests|bench)/[\w/]+\.py)`", page))
    assert [path for path in named if not (ROOT / path).exists()] == []
    sources = "".join((ROOT / path).read_text() for path in named)
    assert [test for test in re.findall(r"`(test_\w+)`", page) if f"def {test}(" not in sources] == []
