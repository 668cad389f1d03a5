"""The anchor file: two slots, written in turn, each with a checksum."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.store import anchor as module
from broker.store.anchor import FILE, Anchor, AnchorFile, read_anchor
from broker.store.errors import HistoryLostError, StoreError

FIRST = Anchor("0123456789abcdef" * 2, 3, 10, 4, 5, 6, bytes(range(32)))
SLOT = os.sysconf("SC_PAGE_SIZE")


def later(commits: int) -> Anchor:
    return FIRST._replace(commits=commits)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[AnchorFile]:
    file = AnchorFile(tmp_path, FIRST, 7)
    yield file
    file.close()


def damage(directory: Path, at: int) -> None:
    data = bytearray((directory / FILE).read_bytes())
    data[at] ^= 1
    (directory / FILE).write_bytes(data)


def test_what_was_kept_is_read_at_once(file: AnchorFile, tmp_path: Path) -> None:
    found = read_anchor(tmp_path)
    assert found is not None
    assert (found.anchor, found.damaged) == (FIRST, 0)
    for commits in range(11, 16):
        file.keep(later(commits))
        again = read_anchor(tmp_path)
        assert again is not None
        assert again.anchor == later(commits)
        assert again.generation > found.generation
        found = again


def test_no_anchor_is_none(tmp_path: Path) -> None:
    assert read_anchor(tmp_path) is None


@pytest.mark.parametrize("offset", range(0, 120, 7))
def test_a_torn_slot_is_known_and_leaves_the_one_before(tmp_path: Path, offset: int) -> None:
    file = AnchorFile(tmp_path, FIRST, 0)
    file.keep(later(11))
    file.keep(later(12))
    file.close()
    newest = 0 if (tmp_path / FILE).read_bytes()[:SLOT].find((12).to_bytes(8, "little")) > 0 else SLOT
    damage(tmp_path, newest + offset)
    found = read_anchor(tmp_path)
    assert found is not None
    assert (found.anchor, found.damaged) == (later(11), 1)


def test_an_anchor_without_a_whole_slot_is_refused(file: AnchorFile, tmp_path: Path) -> None:
    file.close()
    damage(tmp_path, 20)
    damage(tmp_path, SLOT + 20)
    with pytest.raises(HistoryLostError, match=r"store\.anchor is damaged"):
        read_anchor(tmp_path)


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_cut_anchor_is_damaged(file: AnchorFile, tmp_path: Path, size: int) -> None:
    file.close()
    os.truncate(tmp_path / FILE, size)
    with pytest.raises(HistoryLostError, match="is damaged"):
        read_anchor(tmp_path)


def test_an_old_anchor_does_not_win_over_a_new_file(file: AnchorFile, tmp_path: Path) -> None:
    file.keep(later(11))
    found = read_anchor(tmp_path)
    assert found is not None
    fewer = AnchorFile(tmp_path, later(5), found.generation)
    again = read_anchor(tmp_path)
    fewer.close()
    assert again is not None
    assert again.anchor == later(5)


def test_the_disk_gets_it_after_a_number_of_commits(file: AnchorFile, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = threading.Event()
    monkeypatch.setattr(module, "SYNC_S", 3600.0)
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.set())
    for commits in range(module.SYNC_COMMITS - 1):
        file.keep(later(commits))
    assert not synced.is_set()
    file.keep(later(100))
    assert synced.wait(30)


def test_the_disk_gets_it_after_a_while(file: AnchorFile, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = threading.Event()
    monkeypatch.setattr(module, "SYNC_S", 0.01)
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.set())
    file.keep(later(11))
    assert synced.wait(30)


def test_a_disk_that_fails_is_told(file: AnchorFile, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[StoreError] = []
    done = threading.Event()

    def report(error: StoreError) -> None:
        told.append(error)
        done.set()

    def fail(_: int) -> None:
        raise OSError(5, "no such luck")

    file.report = report
    monkeypatch.setattr(module, "SYNC_S", 0.01)
    monkeypatch.setattr(os, "fdatasync", fail)
    file.keep(later(11))
    assert done.wait(30)
    assert "no such luck" in str(told[0])
    monkeypatch.undo()
