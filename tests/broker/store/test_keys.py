import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing

from broker.store.digest import Keys
from broker.store.job import key_of
from broker.store.keys import read_keys
from broker.store.reader import Reader
from broker.store.rows import RequestRow
from broker.store.store import Store


async def test_keys_that_are_no_numbers_leave_each_to_be_looked_for(
    reopen: Callable[[], Store],
    committed: Callable[[Store], Awaitable[None]],
    make_request: Callable[..., RequestRow],
) -> None:
    store = reopen()
    store.batch.add_request(make_request(1))
    await committed(store)
    known = read_keys(store._connection)
    assert known is not None
    assert known.maybe([key_of("alice", "alice-hmi", "id-1")])
    store.close()
    with closing(sqlite3.connect(store._path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'key INTEGER', 'key ANY')")
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("UPDATE job SET key = 'x'")
    with closing(Reader(store._path)) as damaged:
        assert read_keys(damaged._connection) is None


def test_few_new_keys_are_taken_for_known_ones() -> None:
    known, names = Keys(), [key_of("u", "c", str(number)) for number in range(120_000)]
    known.add(names[:100_000])
    assert known.maybe(names[:100_000]) == names[:100_000]
    assert len(known.maybe(names[100_000:])) < 20_000 / 2_000
