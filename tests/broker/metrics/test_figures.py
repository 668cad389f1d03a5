"""Each metric is there from the start, and moves when what it tells of happens."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from broker.accept.rates import HELD_S
from broker.histogram import Counted
from broker.metrics.table import METRICS, Figures, Kind, Labels
from tests.virtual_plant import START_US, Plant, play

SET = "SetTwistLinearSoftLimit"
STILL = {"info", "epoch", "start_time_seconds", "store_free_bytes"}
"""Metrics that nothing here can move."""
ALWAYS_THERE = set(METRICS) - {"requests_total", "refusals_total"}
Happening = Callable[[Plant], Awaitable[None]]


def twist(limit: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": limit}


async def read(plant: Plant) -> Figures:
    """All metrics as they are now."""
    await plant.service.reading.count_arms()
    return plant.service.reading.figures()


def number(figures: Figures, name: str, *labels: str) -> float:
    """One number; of a histogram how many it counted."""
    value = figures[name].get(labels, 0.0)
    return value.below[-1] if isinstance(value, Counted) else float(value)


async def change(plant: Plant) -> None:
    await plant.call("r1", SET, twist(0.123))
    await plant.committed()


async def refusal(plant: Plant) -> None:
    await plant.call("r1", SET, twist(99.0))


async def a_failed_read(plant: Plant) -> None:
    plant.service._counters.add("row_damaged")
    await plant.turn()


async def offline(plant: Plant) -> None:
    await plant.fault("r1", "offline")
    await plant.document("state/r1/presence", lambda each: each["state"] == "offline")


async def pending(plant: Plant) -> None:
    await offline(plant)
    await plant.call("r1", SET, twist(0.05), ttl_ms=300_000)
    await plant.turn(30.0)


async def faulty(plant: Plant) -> None:
    await plant.fault("r1", "fault")


async def in_the_queue(plant: Plant) -> None:
    await plant.fault("r1", "delay", delay_ms=900)
    for limit in (0.1, 0.11, 0.12):
        plant.send("r1", SET, twist(limit))
    await plant.turn(0.2)


async def foreign(plant: Plant) -> None:
    item = {"item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "value": 0.2}
    after = len(plant.link.published)
    await plant.fault("r1", "foreign_change", **item)
    await plant.document(
        "evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda each: each["cause"] == "foreign", after
    )


async def silence(plant: Plant) -> None:
    plant.link.silent = True
    plant.send("r1", SET, twist(0.2))
    await plant.turn(3.0)


async def laden(plant: Plant) -> None:
    plant.link.silent = True
    for _ in range(100):
        plant.send("r1", "GetGravityVector")
    plant.send("r1", SET, twist(0.2))
    await plant.turn(3.0)


async def documents_late(plant: Plant) -> None:
    plant.service._documents.mark(plant.session(), "config")
    await plant.turn()


async def nothing_decided(plant: Plant) -> None:
    turnstile = plant.service._stage_1.turnstile
    turnstile._picking = plant.loop.call_later(3600.0, turnstile._pick)
    plant.send("r1", SET, twist(0.2))
    await plant.turn(1.0)


async def link_lost(plant: Plant) -> None:
    plant.link.lose()
    await plant.turn()


async def link_back(plant: Plant) -> None:
    plant.link.lose()
    plant.link.counts.sessions_lost += 1
    plant.link.counts.connections += 1
    plant.link.restore(present=False)
    await plant.turn(1.0)


async def too_much(plant: Plant) -> None:
    for _ in range(2000):
        plant.send("r1", "GetGravityVector", user="eve")
    await plant.turn(HELD_S / 2)


async def beat(plant: Plant) -> None:
    plant.service._presence.pulse._beat()
    await plant.turn()


async def told(plant: Plant) -> None:
    await plant.turn(5.0)
    plant.service._presence.tell()
    await plant.turn(0.1)


async def clock_ahead(plant: Plant) -> None:
    right = plant.clock.wall_us
    plant.clock.wall_us = lambda: right() + 3_600_000_000
    await plant.turn(1.0)


async def for_a_time(plant: Plant) -> None:
    await plant.call("r1", SET, twist(0.2), valid_for_ms=60_000)


async def overdue_end(plant: Plant) -> None:
    await plant.call("r1", SET, twist(0.2))
    await plant.call("r1", SET, twist(0.4), valid_for_ms=5_000)
    await plant.call("r1", "SetAuthority", {"authority": "observe", "reason": "a look"})
    await plant.turn(20.0)


async def proposed(plant: Plant) -> None:
    params = {"method": SET, "params": twist(0.2), "on_failure": "pause", "soak_ms": 3_600_000}
    await plant.call("@all", "Rollout", params)
    await plant.turn(1.0)


async def disk_full(plant: Plant) -> None:
    plant.store.reserve.full, plant.store.reserve._looked_s = True, float("inf")
    await plant.turn()


HAPPENINGS: dict[str, tuple[Happening, Labels, float]] = {
    "ready": (link_lost, (), -1),
    "requests_total": (change, (SET, "applied", "json"), 1),
    "refusals_total": (refusal, ("other", "out_of_limits"), 1),
    "incidents_total": (a_failed_read, ("row_damaged",), 1),
    "requests_waiting": (nothing_decided, (), 1),
    "requests_waiting_bytes": (nothing_decided, (), 50),
    "replies_owed": (in_the_queue, (), 3),
    "users_held": (too_much, (), 1),
    "stage_seconds": (change, ("arm",), 1),
    "changes": (in_the_queue, ("queued",), 3),
    "oldest_unsettled_seconds": (pending, (), 29),
    "arm_queue_longest": (in_the_queue, (), 3),
    "arms": (offline, ("offline", "control"), 1),
    "arms_online": (faulty, ("fault",), 1),
    "arms_drifted": (foreign, (), 1),
    "overrides": (for_a_time, (), 1),
    "overrides_overdue": (overdue_end, (), 1),
    "plans": (proposed, ("running",), 1),
    "commit_seconds": (change, (), 1),
    "store_bytes": (change, ("wal",), 1),
    "store_full": (disk_full, (), 1),
    "outbox_publications": (silence, (), 2),
    "outbox_lag_seconds": (silence, (), 2),
    "events_unpublished": (silence, (), 1),
    "documents_waiting": (documents_late, (), 1),
    "documents_lag_seconds": (laden, (), 2),
    "loop_lag_seconds": (beat, (), 1),
    "mqtt_connected": (link_lost, ("requests",), -1),
    "mqtt_connections_total": (link_back, ("requests",), 1),
    "mqtt_sessions_lost_total": (link_back, ("requests",), 1),
    "round_trip_seconds": (told, (), 1),
    "round_trip_age_seconds": (told, (), -1),
    "clock_ok": (clock_ahead, (), -1),
    "clock_offset_seconds": (clock_ahead, (), 3590),
}
"""For each metric what lets it move, with which labels, and at least by how much."""


def test_every_metric_has_a_happening() -> None:
    assert HAPPENINGS.keys() | STILL == METRICS.keys()
    assert not HAPPENINGS.keys() & STILL


@pytest.mark.parametrize("name", HAPPENINGS)
def test_it_moves(tmp_path: Path, name: str) -> None:
    happening, labels, least = HAPPENINGS[name]

    async def scenario(plant: Plant) -> None:
        if name == "round_trip_age_seconds":
            await plant.turn(10.0)
        await plant.turn(5.0)
        before = await read(plant)
        await happening(plant)
        after = await read(plant)
        moved = number(after, name, *labels) - number(before, name, *labels)
        assert moved <= least if least < 0 else moved >= least, (moved, before[name], after[name])

    play(tmp_path, scenario)


def test_all_are_there_from_the_start_and_of_their_kind(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        figures = await read(plant)
        assert list(figures) == list(METRICS)
        assert {name for name, values in figures.items() if values} >= ALWAYS_THERE
        for name, values in figures.items():
            for labels, value in values.items():
                assert len(labels) == len(METRICS[name].labels), name
                assert isinstance(value, Counted) is (METRICS[name].kind is Kind.HISTOGRAM), name

    play(tmp_path, scenario)


def test_numbers_are_right(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(5.0)
        await pending(plant)
        figures = await read(plant)
        assert sum(number(figures, "arms", *labels) for labels in figures["arms"]) == 2
        assert number(figures, "changes", "pending") == 1
        assert number(figures, "arms_drifted") == 0
        assert number(figures, "oldest_unsettled_seconds") == pytest.approx(30.0, abs=0.5)
        assert (
            number(figures, "store_bytes", "database")
            == plant.settings.data_dir.joinpath("store.sqlite3").stat().st_size
        )
        assert number(figures, "epoch") == plant.loaded.epoch
        assert number(figures, "store_free_bytes") > 0
        assert number(figures, "start_time_seconds") == pytest.approx(START_US / 1e6, abs=1.0)
        assert number(figures, "info", "0.1.0", "main", "armbroker") == 1
        assert ("arms",) not in figures["mqtt_connected"]

    play(tmp_path, scenario)


def test_what_serves_requests_is_passed_even_while_it_waits_for_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reading = plant.service.reading
        assert reading.serving
        assert await asyncio.gather(*(reading.passes(5.0) for _ in range(3))) == [True] * 3

    play(tmp_path, scenario)


def test_what_hangs_is_not_passed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        turnstile = plant.service._stage_1.turnstile
        turnstile._picking = plant.loop.call_later(3600.0, turnstile._pick)
        assert not await plant.service.reading.passes(5.0)
        turnstile._picking.cancel()
        turnstile._picking = None
        assert await plant.service.reading.passes(5.0)

    play(tmp_path, scenario)


def test_the_connection_of_arms_that_speak_mqtt_is_told_where_there_is_one(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        assert ("arms",) not in (await read(plant))["mqtt_connected"]
        plant.service._bus._link = plant.link
        figures = await read(plant)
        assert number(figures, "mqtt_connected", "arms") == 1
        assert ("arms",) in figures["mqtt_connections_total"]
        plant.service._bus._link = None

    play(tmp_path, scenario)
