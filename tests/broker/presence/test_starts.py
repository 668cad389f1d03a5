"""The store remembers the starts on it."""

from pathlib import Path

import pytest

from broker.presence.starts import META_KEY, STARTS_MOST, known_starts, remember_start
from broker.store.errors import StoreFullError
from tests.virtual_plant import Plant, play


def stored(plant: Plant) -> dict[str, str]:
    """The table meta."""
    return dict(plant.store._connection.execute("SELECT key, value FROM meta"))


def test_each_start_is_recorded_before_it_is_told(tmp_path: Path) -> None:
    starts: list[str] = []

    async def scenario(plant: Plant) -> None:
        assert known_starts(plant.loaded.meta) == frozenset(starts)
        starts.append(plant.service._presence.identity.start)
        assert known_starts(stored(plant)) == frozenset(starts)

    for _ in range(3):
        play(tmp_path, scenario)
    assert len(set(starts)) == 3


def test_the_record_is_bounded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        meta: dict[str, str] = {}
        for number in range(STARTS_MOST + 5):
            await remember_start(plant.store, meta, f"{number}", "s")
            meta = stored(plant)
        assert known_starts(meta) == {f"{number}" for number in range(5, STARTS_MOST + 5)}
        assert META_KEY in meta

    play(tmp_path, scenario)


def test_a_store_that_fails_is_told(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.fill_disk()
        with pytest.raises(StoreFullError):
            await remember_start(plant.store, {}, "x" * 10_000_000, "s")

    play(tmp_path, scenario)
