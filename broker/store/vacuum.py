"""Gives the disk back what removed rows took: the file shrinks after a purge."""

import sqlite3
from pathlib import Path

import structlog

log = structlog.get_logger()

INCREMENTAL = 2
"""The value of `auto_vacuum` that lets a file shrink in small steps."""
AT_START_BYTES = 64 * 1024 * 1024
"""An older file up to this size is written anew at a start, so that it can shrink; larger ones by command."""
STEP_PAGES = 512
"""Pages given back in one transaction."""
LEFT_PAGES = 256
"""Free pages that stay: what is written next takes them."""


def auto_vacuum(connection: sqlite3.Connection) -> int:
    """How the file shrinks."""
    (found,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    return int(found)


def shrinkable(connection: sqlite3.Connection, path: Path) -> None:
    """Let a small older file shrink from now on; name the command for a larger one.

    Raises:
        sqlite3.Error: it cannot be written anew.
    """
    if auto_vacuum(connection) == INCREMENTAL:
        return
    if path.stat().st_size <= AT_START_BYTES:
        rewrite(connection)
    else:
        log.warning("store_cannot_shrink", file=str(path), remedy="armbroker store vacuum, while the service is ended")


def rewrite(connection: sqlite3.Connection) -> None:
    """Write the whole file anew, without gaps; it takes its size again on the disk meanwhile."""
    connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
    connection.execute("VACUUM")


def give_back(connection: sqlite3.Connection) -> bool:
    """Give some free pages back to the disk; whether there may be more."""
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    if auto_vacuum(connection) != INCREMENTAL or free <= LEFT_PAGES:
        return False
    pages = min(STEP_PAGES, free - LEFT_PAGES)
    connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
    return True
