"""Folders for the parts of a campaign."""

import tempfile
from collections.abc import Iterator
from pathlib import Path


def folders(count: int) -> Iterator[tuple[int, Path]]:
    """Numbered folders, each removed after its turn."""
    for number in range(count):
        with tempfile.TemporaryDirectory(prefix="armbroker-campaign-") as folder:
            yield number, Path(folder)
