"""Stores in a temporary directory, and rows with something in every column."""

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from broker.store.job import key_of
from broker.store.rows import ChangeRow, EventRow, RequestRow
from broker.store.store import Store

DAY_US = 86_400_000_000
NOW_US = 20_000 * DAY_US


@pytest.fixture
def make_request() -> Callable[..., RequestRow]:
    def make(n: int, **given: Any) -> RequestRow:
        values: dict[str, Any] = {
            "user": "alice", "conn": "alice-hmi", "id": f"id-{n}", "fingerprint": b"print", "arm": "arm1",
            "method": "SetGravityVector", "at_us": NOW_US + n, "address": "res/alice", "correlation": b"\x00\xff",
            "codec": "json", "outcome": b"done", "settled": True, "reply_open": True,
        }  # fmt: skip
        values |= given
        return RequestRow(n=n, **{"key": key_of(values["user"], values["conn"], values["id"])} | values)

    return make


@pytest.fixture
def make_change() -> Callable[..., ChangeRow]:
    def make(n: int, **given: Any) -> ChangeRow:
        values: dict[str, Any] = {
            "arm": "arm1", "rev": n, "verb": "set", "key": "gravity_vector", "before": b"before",
            "after": b"after", "at_us": NOW_US + n, "loosening": True, "user": "alice", "conn": "alice-hmi",
            "proven": True, "request_id": f"alice/alice-hmi/id-{n}", "method": "SetGravityVector", "reason": "why",
        }  # fmt: skip
        return ChangeRow(n=n, **{**values, **given})

    return make


@pytest.fixture
def make_event() -> Callable[..., EventRow]:
    def make(seq: int, **given: Any) -> EventRow:
        values: dict[str, Any] = {
            "arm": "arm1", "epoch": 1, "prev": seq - 1, "rev": seq, "at_us": NOW_US + seq,
            "topic": "config/GRAVITY_VECTOR_CHANGED", "body": b"body",
        }  # fmt: skip
        return EventRow(seq=seq, **{"n": seq, **values, **given})

    return make


@pytest.fixture
def reopen(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens the test's store, after closing the one before."""
    opened: list[Store] = []

    def open_store() -> Store:
        while opened:
            opened.pop().close()
        opened.append(Store.open(tmp_path / "store", lambda: NOW_US))
        return opened[-1]

    yield open_store
    while opened:
        opened.pop().close()


@pytest.fixture
def committed() -> Callable[[Store], Awaitable[None]]:
    """Flushes, and waits for the commit."""

    async def flush(store: Store) -> None:
        done = asyncio.get_running_loop().create_future()
        store.batch.on_commit(lambda: done.set_result(None))
        store.flush_soon()
        await done

    return flush


@pytest.fixture
def fill_up() -> Callable[[Store], None]:
    """Lets the writer's file grow no further, as on a full disk."""

    def fill(store: Store) -> None:
        connection = store._writer._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()

    return fill


@pytest.fixture
def files_at_most() -> Callable[[int], AbstractContextManager[None]]:
    """No file of this process can grow beyond a size, while in the context."""

    @contextmanager
    def limit(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limit
