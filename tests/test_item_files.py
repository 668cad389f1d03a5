"""What a config item of Kinova costs: the files that name one, written by hand, and what CONTRIBUTING says of them."""

import re

import pytest

from schema.items import ITEMS
from tests.test_architecture import GENERATED, PACKAGES, ROOT

PAST = "broker/store/schema.py"
"""Names some items as they were when a version of the store was migrated; no item is ever added there."""
BOUNDED = {
    "schema/proto/kinova/control_config.proto",
    "schema/messages.py",
    "schema/enums.py",
    "schema/codecs/registry.py",
    "schema/items.py",
    "devices/simulated/cells.py",
    "devices/kortex/worker.py",
    "devices/conformance/kinova.py",
}


def naming(key: str) -> set[str]:
    """The files of the product that name an item, its methods, its record or its event."""
    item = ITEMS[key]
    words = re.compile(rf"\b({key}|(Get|Set|Reset){item.noun}|{item.record.__name__}|{item.event_name})\b")
    ends = ("py", "proto", "js")
    paths = [path for package in PACKAGES for end in ends for path in (ROOT / package).rglob(f"*.{end}")]
    found = {path.relative_to(ROOT).as_posix() for path in paths if words.search(path.read_text())}
    return {path for path in found if not path.endswith(GENERATED)} - {PAST}


@pytest.mark.parametrize(
    ("key", "files"),
    [
        ("desired_linear_twist", BOUNDED),
        ("desired_joint_speeds", BOUNDED),
        ("cartesian_reference_frame", BOUNDED | {"handlers/items/checks.py", "handlers/batch/order.py"}),
    ],
)
def test_an_item_stands_in_few_files(key: str, files: set[str]) -> None:
    assert naming(key) == files


def test_contributing_tells_the_files_and_their_number() -> None:
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    (row,) = [line for line in lines if line.startswith("| a config item of Kinova |")]
    assert f"{len(BOUNDED)} files" in row
    assert set(re.findall(r"`([a-z_0-9/]+\.(?:py|proto))`", row)) == BOUNDED | {
        "handlers/items/checks.py",
        "scripts/protocol_tables.py",
    }
