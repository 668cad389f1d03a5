from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.errors import StoreBrokenError, StoreError
from broker.store.rows import ArmRow, ChangeRow, ChangeUpdate, Damage, RequestRow
from broker.store.schema import connect
from broker.store.scrub import ARMS, Scrub, Surveyed, _pages, check_at_start
from broker.store.store import FILE, Store
from broker.store.tables import ARM

HASH = "hash differs"


@pytest.fixture
def path(
    reopen: Callable[[], Store],
    make_change: Callable[..., ChangeRow],
    make_request: Callable[..., RequestRow],
    tmp_path: Path,
) -> Path:
    """A closed store with an open and a settled change, and a request that was refused."""
    store = reopen()
    store.batch.add_change(make_change(1))
    store.batch.add_change(make_change(2, before=None))
    store.batch.update_change(ChangeUpdate(n=2, state="settled", after=b"read", outcome="rounded", seq=1))
    store.batch.add_request(make_request(3))
    store.batch.audit(b"entry")
    store.close()
    return tmp_path / "store" / FILE


def scrubbed(path: Path) -> tuple[list[Damage], list[StoreError]]:
    told: list[Damage] = []
    failed: list[StoreError] = []
    scrub = Scrub(path, failed.append, told.append, pause_s=0)
    scrub.start()
    scrub._thread.join()
    assert not scrub.running
    return told, failed


def test_nothing_is_found_in_an_untouched_file(path: Path) -> None:
    assert scrubbed(path) == ([], [])
    with closing(connect(path)) as connection:
        for whole_bytes in (10**9, 0):
            found = check_at_start(connection, path, whole_bytes)
            assert found == Surveyed(whole=bool(whole_bytes))


@pytest.mark.parametrize(
    ("statement", "damage", "doubtful"),
    [
        ("UPDATE job SET accepted = x'00' WHERE n = 1", Damage("job", "arm1", "1/1", HASH), {1: "arm1"}),
        ("UPDATE job SET accepted = x'00' WHERE n = 2", Damage("job", "arm1", "2/2", HASH), {}),
        ("UPDATE job SET arm = 'arm3' WHERE n = 1", Damage("job", "arm1", "1/1", HASH), {}),
        ("UPDATE job SET rev = 9 WHERE n = 2", Damage("job", "arm1", "2/9", HASH), {}),
        ("UPDATE job SET item = 0 WHERE n = 1", Damage("job", "arm1", "1/1", HASH), {}),
        ("UPDATE job SET key = 5 WHERE n = 1", Damage("job", "arm1", "1/1", HASH), {}),
        ("UPDATE job SET at_us = 5 WHERE n = 1", Damage("job", "arm1", "1/1", HASH), {}),
        ("UPDATE job SET state = 'held' WHERE n = 1", Damage("job", "arm1", "1/1", HASH), {1: "arm1"}),
        ("UPDATE job SET ended = NULL WHERE n = 2", Damage("job", "arm1", "2/2", HASH), {}),
        ("UPDATE job SET ended = x'00' WHERE n = 2", Damage("job", "arm1", "2/2", HASH), {}),
        ("UPDATE job SET seq = 2 WHERE n = 2", Damage("job", "arm1", "2/2", HASH), {}),
        ("UPDATE job SET reply = x'00' WHERE n = 3", Damage("job", "arm1", "3/0", HASH), {}),
        ("UPDATE job SET reply = NULL WHERE n = 3", Damage("job", "arm1", "3/0", HASH), {}),
        ("UPDATE job SET reply_open = 2 WHERE n = 3", Damage("job", "arm1", "3/0", HASH), {}),
        ("UPDATE audit SET entries = x'00'", Damage("audit", "", "1", "it is not what was written"), {}),
    ],
)
def test_a_changed_row_is_found_at_the_start_and_in_the_background(
    path: Path, statement: str, damage: Damage, doubtful: dict[int, str]
) -> None:
    with closing(connect(path)) as connection:
        connection.execute(statement)
        for whole_bytes in (10**9, 0):
            found = check_at_start(connection, path, whole_bytes)
            assert (found.damages, found.doubtful) == ([damage], doubtful)
    assert scrubbed(path) == ([damage], [])


def test_a_damaged_page_is_found(path: Path) -> None:
    with closing(connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'principal'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * size : root * size] = b"\x55" * size
    path.write_bytes(content)
    with pytest.raises(StoreBrokenError, match="restore the store from a backup"):
        Store.open(path.parent, lambda: 0)
    told, (failed,) = scrubbed(path)
    assert told == []
    assert isinstance(failed, StoreBrokenError)


def test_it_can_be_stopped_before_it_began_and_on_the_way(path: Path) -> None:
    failed: list[StoreError] = []
    told: list[Damage] = []
    idle = Scrub(path, failed.append, told.append)
    idle.stop()
    busy = Scrub(path, failed.append, told.append, pause_s=3600)
    busy.start()
    begun = busy.running
    busy.stop()
    assert (begun, busy.running, failed, told) == (True, False, [], [])


def test_the_rows_of_many_arms_are_compared_in_pieces_each_row_once(
    reopen: Callable[[], Store], tmp_path: Path
) -> None:
    arms = [*(f"arm{number:03}" for number in range(5 * ARMS)), "\u00e4rm", "b" * 200]
    store = reopen()
    for arm in arms:
        store.batch.put_arm(ArmRow(arm=arm))
    store.close()
    with closing(connect(tmp_path / "store" / FILE)) as connection:
        connection.execute("UPDATE arm SET arm = CAST(x'80ff' AS TEXT) WHERE arm = ?", (arms[ARMS],))
        pieces = list(_pages(connection, ARM))
    found = [row[0] for rows in pieces for row in rows]
    assert sorted(found) == sorted([*arms[:ARMS], *arms[ARMS + 1 :], "\udc80\udcff"])
    assert max(map(len, pieces)) <= 2 * ARMS
    assert len(pieces) >= len(arms) // ARMS
