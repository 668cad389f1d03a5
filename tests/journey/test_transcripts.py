"""The transcripts of README and docs/ are what the commands print."""

from functools import partial
from pathlib import Path

import pytest

from tests.journey.transcript import Step, normalised, parse, plant_of_transcript, plant_of_trial, run_until
from tests.mosquitto import ROOT

TRANSCRIPT = ROOT / "docs" / "stock_clients.md"
PAGES = {
    ROOT / "README.md": plant_of_transcript,
    TRANSCRIPT: plant_of_transcript,
    ROOT / "docs" / "tutorial.md": plant_of_trial,
    ROOT / "docs" / "howto_operator.md": plant_of_trial,
    ROOT / "docs" / "howto_planner.md": plant_of_trial,
    ROOT / "docs" / "fleet.md": plant_of_trial,
    ROOT / "docs" / "howto_plc.md": plant_of_transcript,
}
"""Each page with commands, and where they run."""
README_BYTES = 6_144


def is_printed(wanted: str, now: str, _before: str) -> bool:
    """Whether what is printed now is what is wanted."""
    return normalised(now) == wanted


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_transcript_is_what_is_printed(page: Path) -> None:
    steps = parse(page.read_text())
    assert steps
    with PAGES[page]() as environment:
        for step in steps:
            wanted = normalised(step.printed)
            printed = run_until(step, environment, partial(is_printed, wanted))
            assert normalised(printed) == wanted, step.command


@pytest.mark.parametrize(
    "part",
    [
        "mosquitto_rr $ALICE -V 5 -i",
        "mosquitto_rr $ALICE -V 311 -i",
        "mosquitto_pub",
        "mosquitto_sub",
        "/evt/",
        "/state/",
    ],
)
def test_the_transcript_shows_stock_clients(part: str) -> None:
    assert any(part in step.command for step in parse(TRANSCRIPT.read_text()))


def test_the_readme_is_read_in_a_few_minutes() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= README_BYTES


def test_every_page_is_listed() -> None:
    listed = (ROOT / "docs" / "README.md").read_text()
    pages = [page.name for page in (ROOT / "docs").glob("*.md") if page.name != "README.md"]
    assert [page for page in pages if f"]({page})" not in listed] == []


def test_blocks_are_parsed_as_printed() -> None:
    text = "```\n$ not run\n```\n```console\n$ one \\\n  more\nout\n\nput\n$ two\n```\n$ no\n"
    assert parse(text) == [Step("$ one \\\n  more", "out\n\nput\n"), Step("$ two", "")]


def test_only_times_are_left_out() -> None:
    line = '"at":"2026-11-30T09:12:04.512345Z","sec":17,"usec":5,"seq":17'
    assert normalised(line) == '"at":"TIME","sec":0,"usec":0,"seq":17'
