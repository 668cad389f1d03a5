"""What a store holds, read by its own tables, for tests that look at it from beside the service."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from broker.record.event_bodies import EventBodies
from broker.record.principals import Principals
from broker.store import job
from broker.store.late import put_back
from broker.store.rows import ChangeRow, EventRow, PastChange, RequestRow
from schema.codecs import CODECS


def as_started(path: Path) -> sqlite3.Connection:
    """A copy of a store that may be served, as a start would find it: with the rows that are late."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as served:
        served.backup(copy)
    put_back(copy)
    return copy


class Stored(NamedTuple):
    """One job: its request, its change as far as it got and as the history tells it, and its event."""

    request: RequestRow | None
    change: ChangeRow | None
    past: PastChange | None
    event: EventRow | None


def jobs(place: sqlite3.Connection | Path) -> list[Stored]:
    """All jobs in the order of their numbers; each has to agree with its hashes."""
    if isinstance(place, Path):
        with closing(sqlite3.connect(place)) as connection:
            return jobs(connection)
    found = []
    for values in place.execute(f"SELECT {job.SELECT} FROM job ORDER BY n").fetchall():  # noqa: S608 - constants
        row = job.Job(values)
        assert row.whole, values
        found.append(Stored(row.request(), row.change(), row.past(), row.event()))
    return found


def changes(place: sqlite3.Connection | Path) -> list[ChangeRow]:
    """All changes in the order of their numbers."""
    return [one.change for one in jobs(place) if one.change is not None]


def requests(place: sqlite3.Connection | Path) -> list[RequestRow]:
    """All requests in the order of their numbers."""
    return [one.request for one in jobs(place) if one.request is not None]


def ends(place: sqlite3.Connection | Path) -> list[tuple[str, str, str]]:
    """Full id, state and outcome of all changes that somebody asked for."""
    return [
        (one.past.request_id, one.past.state, one.past.outcome)
        for one in jobs(place)
        if one.past is not None and one.request is not None
    ]


def event_bodies(place: sqlite3.Connection, arm: str) -> list[bytes]:
    """The bodies of all events of an arm in the order of their seq."""
    found = [one for one in jobs(place) if one.event is not None and one.event.arm == arm]
    body_of = bodies(dict(place.execute("SELECT name, number FROM principal").fetchall()))
    told = {one.event.seq: body_of(one.change, one.event) for one in found if one.event is not None}
    return [told[seq] for seq in sorted(told)]


def bodies(numbers: dict[str, int]) -> Callable[[ChangeRow | None, EventRow], bytes]:
    """What makes the bodies of events in a store with these principals, none of which is new."""
    store: object = None
    return EventBodies(Principals(store, numbers), CODECS["application/json"]).stored  # type: ignore[arg-type]


def audited(place: sqlite3.Connection | Path) -> list[bytes]:
    """The entries of the audit in their order."""
    if isinstance(place, Path):
        with closing(sqlite3.connect(place)) as connection:
            return audited(connection)
    rows = place.execute("SELECT entries FROM audit ORDER BY n").fetchall()
    return [entry for (entries,) in rows for entry in bytes(entries).split(b"\n")]
