from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.errors import StoreBrokenError, StoreError
from broker.store.rows import ChangeRow, ChangeUpdate
from broker.store.schema import connect
from broker.store.scrub import Scrub, check_at_start
from broker.store.store import FILE, Store


@pytest.fixture
def path(reopen: Callable[[], Store], make_change: Callable[..., ChangeRow], tmp_path: Path) -> Path:
    """A closed store with an open and a settled change."""
    store = reopen()
    store.batch.add_change(make_change(1))
    store.batch.add_change(make_change(2, before=None))
    store.batch.update_change(ChangeUpdate(n=2, state="settled", after=b"read", outcome="rounded", seq=1))
    store.batch.audit(b"entry")
    store.close()
    return tmp_path / "store" / FILE


def scrubbed(path: Path) -> list[StoreError]:
    found: list[StoreError] = []
    scrub = Scrub(path, found.append, pause_s=0)
    scrub.start()
    scrub._thread.join()
    assert not scrub.running
    return found


def test_nothing_is_found_in_an_untouched_file(path: Path) -> None:
    assert scrubbed(path) == []
    with closing(connect(path)) as connection:
        assert check_at_start(connection, path)
        assert not check_at_start(connection, path, whole_bytes=0)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE change SET before = x'00' WHERE n = 1", "^change 1 was changed"),
        ("UPDATE change SET loosening = 0 WHERE n = 2", "^change 2 was changed"),
        ("UPDATE change SET reason = 'other' WHERE n = 2", "^change 2 was changed"),
        ("UPDATE change SET row_hash = x'00' WHERE n = 1", "^change 1 was changed"),
        ("UPDATE change SET after = x'00' WHERE n = 1", "^the state of change 1 was changed"),
        ("UPDATE change SET outcome = 'applied' WHERE n = 2", "^the state of change 2 was changed"),
        ("UPDATE audit SET entry = x'00'", "^audit entry 1 was changed"),
    ],
)
def test_a_changed_row_is_found_at_the_start_and_in_the_background(path: Path, statement: str, message: str) -> None:
    with closing(connect(path)) as connection:
        connection.execute(statement)
        for whole_bytes in (10**9, 0):
            with pytest.raises(StoreBrokenError, match=message):
                check_at_start(connection, path, whole_bytes)
    (found,) = scrubbed(path)
    with pytest.raises(StoreBrokenError, match=message):
        raise found


def test_counting_a_start_does_not_change_a_hash(path: Path) -> None:
    with closing(connect(path)) as connection:
        connection.execute("UPDATE change SET starts = starts + 1")
        assert check_at_start(connection, path)


def test_a_damaged_page_is_found(path: Path) -> None:
    with closing(connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'principal'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * size : root * size] = b"\x55" * size
    path.write_bytes(content)
    with pytest.raises(StoreBrokenError):
        Store.open(path.parent, lambda: 0)
    (found,) = scrubbed(path)
    assert isinstance(found, StoreBrokenError)


def test_it_can_be_stopped_before_it_began_and_on_the_way(path: Path) -> None:
    found: list[StoreError] = []
    idle = Scrub(path, found.append)
    idle.stop()
    busy = Scrub(path, found.append, pause_s=3600)
    busy.start()
    begun = busy.running
    busy.stop()
    assert (begun, busy.running, found) == (True, False, [])
