"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def vectors_dir() -> Path:
    """The folder of ground-truth vectors; the test is skipped where it is absent."""
    place = Path(os.environ.get("ARMBROKER_VECTORS", ROOT.parent / "shared" / "vectors"))
    if not place.is_dir():
        pytest.skip(f"no vectors at {place}; set ARMBROKER_VECTORS")
    return place
