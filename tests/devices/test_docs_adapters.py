"""`docs/adapters.md` tells of every behaviour and every adapter, and its links lead somewhere."""

import re

from devices.registry import BUILT_IN
from tests.devices.rigs import RIGS, SUITE
from tests.mosquitto import ROOT

PAGE = ROOT / "docs" / "adapters.md"
TEXT = PAGE.read_text()


def test_every_behaviour_has_a_row_and_every_bench_a_column() -> None:
    header, _, *rows = TEXT[TEXT.index("| behaviour |") :].split("\n\n")[0].splitlines()
    assert header.strip("| ").split(" | ") == ["behaviour", *RIGS]
    assert [row.split("|")[1].strip() for row in rows] == list(SUITE)
    assert "FAIL" not in "".join(rows)


def test_every_built_in_adapter_is_told_of() -> None:
    ours = [name for name, place in BUILT_IN.items() if place.startswith("devices.")]
    assert [name for name in ours if f"| `{name}` |" not in TEXT] == []


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert links
    assert [link for link in links if not (PAGE.parent / link).exists()] == []
