"""Copies of the store that a migration left beside it: which there are, and when they go."""

import re
from pathlib import Path
from typing import NamedTuple

import structlog

log = structlog.get_logger()

KEPT_S = 30 * 24 * 3600.0
"""How long a copy is kept: longer than anybody tries a new release before going back."""


class Copy(NamedTuple):
    """A copy as it was before a migration: the version of its tables, and where it lies."""

    version: int
    path: Path


def copy_path(store: Path, version: int) -> Path:
    """Where the copy of a store lies that had a version."""
    return store.with_name(f"{store.name}.v{version}")


def copies_of(store: Path) -> list[Copy]:
    """The copies beside a store, the newest version first."""
    form = re.compile(rf"{re.escape(store.name)}\.v(\d+)\Z")
    found = [(form.match(path.name), path) for path in store.parent.glob(f"{store.name}.v*")]
    return sorted((Copy(int(match[1]), path) for match, path in found if match is not None), reverse=True)


def way_back(store: Path, newest: int) -> str:
    """What helps a program that knows versions up to `newest`, in words."""
    usable = [copy for copy in copies_of(store) if copy.version <= newest]
    if not usable:
        return "there is no copy that this program can read: use the newer program, or a backup"
    copy = usable[0]
    return (
        f"this program can read {copy.path.name}, the copy of before the migration: put it in the place of "
        f"{store.name} and start with --accept-lost-history; what came after it is lost"
    )


def remove_old(store: Path, now_s: float, sure_since_s: float = 0.0) -> list[Path]:
    """Remove the copies that are older than `KEPT_S`; which they were.

    Times in s since 1970; ages are known since `sure_since_s` only.
    """
    old = [copy.path for copy in copies_of(store) if now_s - max(copy.path.stat().st_mtime, sure_since_s) > KEPT_S]
    for path in old:
        path.unlink(missing_ok=True)
        log.info("copy_removed", path=str(path), why=f"older than {KEPT_S / 86400:g} days")
    return old
