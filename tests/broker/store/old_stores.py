"""Stores of older versions, each made by the program that wrote such, with what that program told of it."""

import json
import tarfile
from pathlib import Path
from typing import Any

_OLD = Path(__file__).parent / "old"


def unpacked(version: int, directory: Path) -> Path:
    """The directory of a store of that version, in one that may not be there yet."""
    with tarfile.open(_OLD / f"store_v{version}.tar.gz") as archive:
        archive.extractall(directory, filter="data")
    return directory


def told_of(directory: Path) -> dict[str, Any]:
    """What the program before told of it."""
    found: dict[str, Any] = json.loads((directory / "told.json").read_bytes())
    return found
