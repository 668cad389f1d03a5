import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from hashlib import sha256

import pytest

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


def counted(client: int, number: int) -> int:
    return key_of("u", f"plc-{client}", f"{client % 7}-{number:06d}")


def random_text(number: int) -> str:
    return sha256(b"%d" % number).hexdigest()[:32]


ONE = [counted(1, number) for number in range(120_000)]
MANY = [counted(client, number) for number in range(2_400) for client in range(50)]
RANDOM = [key_of("u", "c", random_text(number)) for number in range(120_000)]


@pytest.mark.parametrize("keys", [ONE, MANY, RANDOM], ids=["one counter", "many counters", "random ids"])
def test_few_new_keys_are_taken_for_known_ones(keys: list[int]) -> None:
    known = Keys()
    known.add(keys[:100_000])
    assert known.maybe(keys[:100_000]) == keys[:100_000]
    assert len(known.maybe(keys[100_000:])) < 20_000 / 2_000


@pytest.mark.parametrize("stem", ["", "7-", "a" * 57, "ü", "\udc80-"])
def test_keys_of_ids_that_count_follow_each_other(stem: str) -> None:
    keys = [key_of("alice", "plc-3", f"{stem}{number:07d}") for number in range(9_990, 10_010)]
    assert keys == list(range(keys[0], keys[0] + 20))
    assert 0 < keys[0] < 2**63 - 20
    assert key_of("alice", "plc-4", f"{stem}0009990") not in keys


def test_of_a_long_number_the_last_digits_count() -> None:
    assert key_of("u", "c", "12345678901234") - key_of("u", "c", "0") == 8_901_234
    assert key_of("u", "c", "٣") == key_of("u", "c", "٣0") > 0  # a digit of another script is text


def test_ids_without_a_number_have_keys_of_their_own() -> None:
    assert len(set(RANDOM)) == len(RANDOM)
    assert max(RANDOM) < 2**63


KEPT, NEW = 20_000, 64


@pytest.mark.parametrize(("id_of", "most"), [("7-{:06d}".format, 16), (random_text, 80)])
async def test_requests_whose_ids_count_are_in_few_pages_of_the_index(
    id_of: Callable[[int], str],
    most: int,
    reopen: Callable[[], Store],
    committed: Callable[[Store], Awaitable[None]],
    make_request: Callable[..., RequestRow],
) -> None:
    """Of a store of 20,000 requests; random ids, of which each needs another page, show what is counted."""
    store = reopen()
    for n in range(1, KEPT + NEW + 1):
        conn = f"plc-{n % 2}"
        store.batch.add_request(make_request(n, conn=conn, id=id_of(n), key=key_of("alice", conn, id_of(n))))
        if n == KEPT:
            await committed(store)
            store._writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    await committed(store)
    written = store._path.with_name(f"{store._path.name}-wal").stat().st_size // (24 + 4096)
    assert most // 2 < written <= most
