"""The time of a store is taken back, with what would end too late for it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from broker.clock import BEHIND, OK, Clock
from broker.store.errors import HistoryLostError, StoreLockedError, StoreTimeError
from broker.store.rows import HandleRow, RequestRow
from broker.store.set_time import SURE_KEY, set_time
from broker.store.store import FILE, Store

NOW_US, YEAR_US, HOUR_US = 1_800_000_000_000_000, 365 * 86_400_000_000, 3_600_000_000
AHEAD_US = NOW_US + YEAR_US


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A store that a clock a year ahead wrote."""
    store = Store.open(tmp_path, lambda: AHEAD_US)
    store.load()
    store.batch.add_request(
        RequestRow(
            n=1, user="u", conn="c", id="1", fingerprint=b"f", arm="r1", method="m", at_us=AHEAD_US, settled=True
        )
    )
    for arm, until_us in (("r1", AHEAD_US + HOUR_US), ("r2", NOW_US + HOUR_US)):
        store.batch.set_meta(f"hold/{arm}", msgspec.json.encode({"until_us": until_us, "reason": "x"}).decode())
    store.batch.set_meta("hold/r3", "")
    for number, seen_us in ((1, AHEAD_US), (2, NOW_US - HOUR_US)):
        store.batch.put_handle(
            HandleRow(
                identifier=number, user="u", conn="c", arm="r1", topic="config", created_us=0, last_seen_us=seen_us
            )
        )
    store.close()
    return tmp_path


def test_the_clock_is_right_again_after_it(data: Path) -> None:
    assert set_time(data, NOW_US) == AHEAD_US
    store = Store.open(data, lambda: NOW_US)
    loaded = store.load()
    store.close()
    assert loaded.last_time_us == NOW_US
    clock = Clock(lambda: NOW_US + 1, lambda: 0.0)
    clock.not_before(loaded.last_time_us, int(loaded.meta[SURE_KEY]))
    assert clock.age_us(NOW_US - 1) is None
    assert clock.told.state == OK
    untils = {arm: msgspec.json.decode(loaded.meta[f"hold/{arm}"])["until_us"] for arm in ("r1", "r2")}
    assert untils == {"r1": NOW_US + HOUR_US, "r2": NOW_US + HOUR_US}
    assert [row.last_seen_us for row in loaded.handles] == [NOW_US, NOW_US - HOUR_US]
    with closing(sqlite3.connect(data / FILE)) as connection:
        (entry,) = connection.execute("SELECT entries FROM audit ORDER BY n DESC LIMIT 1").fetchone()
    told = msgspec.json.decode(entry)
    assert (told["decision"], told["at"]) == ("time_set", NOW_US)
    assert told["by"]


def test_without_it_the_store_is_ahead(data: Path) -> None:
    store = Store.open(data, lambda: NOW_US)
    clock = Clock(lambda: NOW_US, lambda: 0.0)
    clock.not_before(store.load().last_time_us)
    store.close()
    assert clock.told == (BEHIND, YEAR_US / 1e6)


def test_a_later_time_need_not_be_set(data: Path) -> None:
    with pytest.raises(StoreTimeError, match="has told no later time than"):
        set_time(data, AHEAD_US)


def test_a_store_at_work_a_cut_one_and_none_are_left_alone(data: Path, tmp_path: Path) -> None:
    store = Store.open(data, lambda: AHEAD_US)
    with pytest.raises(StoreLockedError):
        set_time(data, NOW_US)
    store.close()
    with pytest.raises(StoreTimeError, match="does not exist"):
        set_time(tmp_path / "nowhere", NOW_US)
    (data / "store.anchor").unlink()
    with pytest.raises(HistoryLostError):
        set_time(data, NOW_US)
