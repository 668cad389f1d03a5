"""Copies that migrations leave."""

import os
from pathlib import Path

import structlog

from broker.store.copies import KEPT_S, copies_of, copy_path, remove_old, way_back

NOW_S = 1_800_000_000.0


def make(store: Path, *versions: int, age_s: float = 0.0) -> None:
    for version in versions:
        path = copy_path(store, version)
        path.touch()
        os.utime(path, (NOW_S - age_s, NOW_S - age_s))


def test_the_newest_that_a_program_can_read_is_named(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite3"
    make(store, 3, 10, 4)
    (tmp_path / "store.sqlite3.vx").touch()
    assert [copy.version for copy in copies_of(store)] == [10, 4, 3]
    assert "store.sqlite3.v4, the copy of before the migration" in way_back(store, 5)
    assert "no copy that this program can read" in way_back(store, 2)


def test_old_copies_go_and_are_told(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite3"
    make(store, 3, age_s=KEPT_S + 1)
    make(store, 4, age_s=KEPT_S - 1)
    with structlog.testing.capture_logs() as logs:
        assert remove_old(store, NOW_S) == [copy_path(store, 3)]
    assert [copy.version for copy in copies_of(store)] == [4]
    assert logs[0]["event"] == "copy_removed"


def test_an_age_that_is_not_known_is_young(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite3"
    make(store, 3, age_s=10 * KEPT_S)
    assert remove_old(store, NOW_S, sure_since_s=NOW_S - 1) == []
