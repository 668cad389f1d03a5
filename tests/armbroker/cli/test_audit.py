"""`armbroker audit` and `armbroker store`."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from armbroker.cli.commands import app
from armbroker.cli.exits import Exit
from broker.store.archive import archive_files
from broker.store.store import FILE, Store

DAY_US = 86_400_000_000
OCTOBER_US = 1_759_276_800_000_000
"""2025-10-01: its month is over."""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A store with three entries of a month that is over, and one that is no JSON."""
    store = Store.open(tmp_path, lambda: OCTOBER_US)
    for day in (0, 1, 2):
        store.batch.audit(json.dumps({"at": OCTOBER_US + day * DAY_US, "arm": f"r{day}"}).encode())
    store.batch.audit(b"no JSON")
    store.close()
    return tmp_path


def test_a_sound_chain_is_said_to_be_so_running_and_at_rest(directory: Path) -> None:
    said = run("audit", "verify", str(directory))
    assert (said.exit_code, said.stdout[:42]) == (Exit.OK, "ok: 4 entries, 0 archives, the chain ends ")
    store = Store.open(directory, lambda: OCTOBER_US)
    head = run("audit", "head", str(directory)).stdout.strip()
    assert run("audit", "verify", str(directory), "--head", head).exit_code == Exit.OK
    store.close()
    assert run("audit", "verify", str(directory), "--head", f"4:{bytes(32).hex()}").exit_code == Exit.REFUSED


def test_what_is_wrong_is_named(directory: Path) -> None:
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as connection:
        connection.execute("UPDATE audit SET entries = CAST(replace(entries, 'r1', 'rX') AS BLOB)")
    said = run("audit", "verify", str(directory))
    assert said.exit_code == Exit.REFUSED
    assert said.stdout.startswith("the database: entries 1 to 4 are not what was written\n1 faults: 4 entries")


def test_entries_are_shown_by_day_also_out_of_archives(directory: Path) -> None:
    def shown(*words: str) -> list[object]:
        lines = run("audit", "export", str(directory), *words).stdout.splitlines()
        return [json.loads(line).get("arm", json.loads(line).get("entry")) for line in lines]

    for _ in range(2):
        assert shown() == ["r0", "r1", "r2", "no JSON"]
        assert shown("--from", "2025-10-02", "--to", "2025-10-02") == ["r1", "no JSON"]
        assert shown("--to", "2025-10-01") == ["r0", "no JSON"]
        assert run("audit", "archive", str(directory)).exit_code == Exit.OK
    assert len(archive_files(directory)) == 1
    assert run("audit", "verify", str(directory)).exit_code == Exit.OK


def test_a_store_in_use_is_not_worked_on(directory: Path) -> None:
    store = Store.open(directory, lambda: OCTOBER_US)
    for words in (("audit", "archive"), ("store", "vacuum")):
        said = run(*words, str(directory))
        assert (said.exit_code, "in use" in said.stderr) == (Exit.NO_SERVER, True)
    store.close()


def test_a_vacuum_says_what_came_of_it(directory: Path) -> None:
    said = run("store", "vacuum", str(directory))
    assert said.exit_code == Exit.OK
    assert "bytes before" in said.stdout


@pytest.mark.parametrize("words", [("audit", "archive"), ("store", "vacuum")])
def test_where_there_is_no_store_none_is_made(tmp_path: Path, words: tuple[str, str]) -> None:
    assert run(*words, str(tmp_path / "nowhere")).exit_code == Exit.USAGE
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("command", ["verify", "export", "head"])
def test_what_cannot_be_read_is_said(tmp_path: Path, command: str) -> None:
    said = run("audit", command, str(tmp_path / "nowhere"))
    assert said.exit_code == Exit.REFUSED
    assert "nowhere" in said.stderr
    (tmp_path / FILE).write_bytes(b"no database" * 1000)
    said = run("audit", command, str(tmp_path))
    assert said.exit_code == Exit.REFUSED
    assert "not a database" in said.stderr


@pytest.mark.parametrize("words", [("audit", "archive"), ("store", "vacuum")])
def test_a_damaged_store_is_said_to_be_damaged(tmp_path: Path, words: tuple[str, str]) -> None:
    (tmp_path / FILE).write_bytes(b"no database" * 1000)
    said = run(*words, str(tmp_path))
    assert said.exit_code == Exit.REFUSED
    assert "not a database" in said.stderr


def test_a_wrong_end_of_the_chain_is_a_usage_error(directory: Path) -> None:
    for text in ("4", "x:00", "4:xx"):
        said = run("audit", "verify", str(directory), "--head", text)
        assert (said.exit_code, "--head" in said.stderr) == (Exit.USAGE, True)
