"""Archives of the audit, and the check of the whole chain over them."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.anchor import FILE as ANCHOR
from broker.store.archive import DIRECTORY, archive_files, month_of, write_archives
from broker.store.audit_check import Report, entries, verify
from broker.store.store import FILE, Store
from broker.store.tables import AuditHead

MONTH_US = 31 * 86_400_000_000
NOVEMBER_US = 1_793_534_400_000_000
NOW_US = NOVEMBER_US + 2 * MONTH_US + 5


def entry(n: int, month: int) -> bytes:
    return json.dumps({"at": NOVEMBER_US + month * MONTH_US + n, "n": n}).encode()


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A closed store with entries of two months that are archived, and of the present one; some in rows of five."""
    directory = tmp_path / "store"
    store = Store.open(directory, lambda: NOW_US)
    for n in range(1, 31):
        store.batch.audit(entry(n, (n - 1) // 10))
        if n > 20 or n % 5 == 0:
            await store.committed()
    store.batch.audit(b"no JSON \xff")
    await store.committed()
    await store.purge(NOW_US)
    store.close()
    return directory / FILE


def left(path: Path) -> list[int]:
    """The numbers of the entries in the database."""
    with closing(sqlite3.connect(path)) as connection:
        return [n for (n,) in connection.execute("SELECT n FROM audit ORDER BY n")]


def sound(report: Report) -> bool:
    return not report.faults and (report.entries, report.archives, report.head.n) == (31, 2, 31)


async def test_months_that_are_over_lie_in_files_and_no_longer_in_the_store(path: Path) -> None:
    assert [file.name for file in archive_files(path.parent)] == [
        "2026-11-000000000001.jsonl", "2026-12-000000000011.jsonl",
    ]  # fmt: skip
    assert left(path) == list(range(21, 32))
    assert sound(verify(path))
    assert [one.entry for one in entries(path)] == [*(entry(n, (n - 1) // 10) for n in range(1, 31)), b"no JSON \xff"]


async def test_the_chain_goes_on_and_a_store_of_old_entries_alone_keeps_its_newest(path: Path) -> None:
    store = Store.open(path.parent, lambda: NOW_US)
    assert store.load().damages == []
    await store.purge(NOW_US + 2 * MONTH_US)
    await store.purge(NOW_US + 2 * MONTH_US)
    assert left(path) == [31]
    store.batch.audit(entry(32, 4))
    await store.committed()
    assert sound(verify(path)) is False
    report = verify(path)
    assert (report.faults, report.entries, report.head.n) == ([], 32, 32)
    store.close()
    Store.open(path.parent, lambda: NOW_US).close()


async def test_a_crash_between_archive_and_removal_loses_and_doubles_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    store = Store.open(directory, lambda: NOW_US)
    for n in range(1, 31):
        store.batch.audit(entry(n, (n - 1) // 10))
        if n % 5 == 0:
            await store.committed()
    assert write_archives(directory / FILE, NOW_US) is not None
    assert (verify(directory / FILE).faults, verify(directory / FILE).entries) == ([], 30)
    await store.purge(NOW_US)
    store.close()
    assert (verify(directory / FILE).faults, verify(directory / FILE).entries) == ([], 30)


def edit(path: Path, old: bytes, new: bytes, number: int = 0) -> None:
    file = archive_files(path.parent)[number]
    content = file.read_bytes()
    assert old in content
    file.chmod(0o600)
    file.write_bytes(content.replace(old, new, 1))


def cut(path: Path, lines: slice, number: int = 0) -> None:
    file = archive_files(path.parent)[number]
    file.chmod(0o600)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[lines]))


def swap(path: Path) -> None:
    file = archive_files(path.parent)[0]
    file.chmod(0o600)
    lines = file.read_bytes().splitlines(keepends=True)
    lines[3], lines[4] = lines[4], lines[3]
    file.write_bytes(b"".join(lines))


def sql(statement: str) -> Callable[[Path], None]:
    def execute(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            assert connection.execute(statement).rowcount > 0

    return execute


HARM: dict[str, tuple[Callable[[Path], object], str]] = {
    "a changed entry of an archive": (
        lambda path: edit(path, b'n\\": 5}', b'n\\": 6}'),
        "entry 5 is not what was written",
    ),
    "a removed line": (lambda path: cut(path, slice(4, None)), "does not begin as an archive"),
    "a removed entry": (lambda path: edit(path, b'{"n":5,', b'{"m":5,'), "KeyError"),
    "a cut archive": (lambda path: cut(path, slice(0, 6)), "it ends before its last line"),
    "an archive without its last entries": (lambda path: cut(path, slice(0, -1), 1), "it ends before its last line"),
    "entries in another order": (swap, "entries 3 to 3 are missing"),
    "an archive that is gone": (lambda path: archive_files(path.parent)[0].unlink(), "entries 1 to 10 are missing"),
    "the newest archive that is gone": (
        lambda path: archive_files(path.parent)[1].unlink(),
        "entries 11 to 20 are missing",
    ),
    "an archive that is no text": (lambda path: edit(path, b'{"n":5,', b'{"n"5,'), "jsonl:6: "),
    "another last line": (lambda path: edit(path, b'"entries":10', b'"entries":11'), "its last line does not fit"),
    "a changed entry of the store": (
        sql("UPDATE audit SET entries = x'00' WHERE n = 25"),
        "entry 25 is not what was written",
    ),
    "an entry that is gone": (sql("DELETE FROM audit WHERE n = 25"), "entries 25 to 25 are missing"),
    "a cut chain": (
        sql("DELETE FROM audit WHERE n > 25"),
        "entry 31, which was kept as an end of the chain, is not there",
    ),
    "nothing left": (sql("DELETE FROM audit"), "is not there: the chain ends at 20"),
    "a damaged anchor": (lambda path: (path.parent / ANCHOR).write_bytes(b"x"), "is damaged"),
}


@pytest.mark.parametrize("name", HARM)
async def test_every_harm_is_found(path: Path, name: str) -> None:
    harm, text = HARM[name]
    harm(path)
    report = verify(path)
    assert any(text in fault for fault in report.faults), report.faults


async def test_a_chain_written_anew_is_found_by_an_end_that_was_kept_elsewhere(path: Path) -> None:
    head = verify(path).head
    assert verify(path, head).faults == []
    assert "is another one" in verify(path, AuditHead(head.n, bytes(32))).faults[0]
    assert "is not there" in verify(path, AuditHead(99, bytes(32))).faults[0]


async def test_entries_of_one_commit_lie_in_one_archive(tmp_path: Path) -> None:
    """The first of them tells the month."""
    store = Store.open(tmp_path, lambda: NOW_US)
    for n, month in enumerate((0, 0, 1, 1, 1), 1):
        store.batch.audit(entry(n, month))
        if n in (1, 3, 5):
            await store.committed()
    await store.purge(NOW_US)
    store.close()
    assert [file.name for file in archive_files(tmp_path)] == [
        "2026-11-000000000001.jsonl", "2026-12-000000000004.jsonl",
    ]  # fmt: skip
    report = verify(tmp_path / FILE)
    assert (report.faults, report.entries, left(tmp_path / FILE)) == ([], 5, [5])


async def test_archives_are_complete_before_they_have_their_name(path: Path) -> None:
    assert [file.suffix for file in (path.parent / DIRECTORY).iterdir()] == [".jsonl", ".jsonl"]


def test_the_month_of_an_entry_is_that_of_its_time() -> None:
    assert month_of(entry(1, 0)) == "2026-11"
    assert month_of(entry(1, 1)) == "2026-12"
    assert month_of(b'{"at":0}') == month_of(b"{}") == month_of(b"x") == month_of(b'{"at":99999999999999999999}') == ""
