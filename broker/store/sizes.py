"""How large the files of a store are."""

from pathlib import Path
from typing import NamedTuple

from broker.store.reserve import disk
from broker.store.store import FILE


class Sizes(NamedTuple):
    """Bytes of the file, of its write-ahead log, and what is free on the disk; 0 for what is not there."""

    database: int
    wal: int
    free: int


def sizes(directory: Path) -> Sizes:
    """Look; a disk that cannot be asked has nothing free."""
    try:
        free = disk(directory)[1]
    except OSError:
        free = 0
    return Sizes(_size(directory / FILE), _size(directory / f"{FILE}-wal"), free)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
