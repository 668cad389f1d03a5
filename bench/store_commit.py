"""CPU cost and bytes written of the store per change, by size of the group that shares a commit.

Each change is what the service writes for one applied request: commit 1, commit 2, and the marks of what was published.
In each commit a new group is accepted while the group before it is settled; marks go with every sixteenth, as those of
50 ms do. Arms are known already, each with as many slots as one has; all in turns change one of them.
The lower quartile is the figure on an idle machine without the checkpoints, which come every few commits.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, quantiles

from broker.store.batch import Batch
from broker.store.history import own_anchor
from broker.store.rows import ArmRow, ChangeRow, ChangeUpdate, EventParts, EventRow, ItemRow, RequestRow, RequestUpdate
from broker.store.schema import connect, migrate
from broker.store.store import Store
from broker.store.writer import Writer

ARMS, SLOTS = 100, 24
MARKED = 16
VALUE = b"v" * 60
REPLY = b"b" * 230
SET_BY = b"s" * 120
HEADS = b'{"config/GRAVITY_VECTOR_CHANGED": 123, "config/TWIST_LINEAR_SOFT_LIMIT_CHANGED": 45}'
ENTRY = b"e" * 200
DESCRIPTION = b"d" * 900


def accept(batch: Batch, k: int) -> None:
    """Rows of commit 1."""
    arm, rev = _place(k)
    batch.add_request(
        RequestRow(
            n=k,
            user="alice",
            conn="alice-hmi",
            id=f"0190{k:028x}",
            fingerprint=b"f" * 16,
            arm=arm,
            method="SetGravityVector",
            at_us=k,
            address="armbroker/v1/res/alice/alice-hmi",
            codec="json",
            rev=rev,
        )
    )
    batch.add_change(
        ChangeRow(
            n=k,
            arm=arm,
            rev=rev,
            verb="set",
            key="gravity_vector",
            before=VALUE,
            after=VALUE,
            at_us=k,
            user="alice",
            conn="alice-hmi",
            request_id=f"alice/alice-hmi/0190{k:028x}",
            method="SetGravityVector",
        )
    )
    batch.audit(ENTRY)


def settle(batch: Batch, k: int) -> None:
    """Rows of commit 2."""
    arm, rev = _place(k)
    _arm(batch, arm, rev)
    batch.update_request(RequestUpdate(n=k, outcome=REPLY, reply_open=True, rev=rev, applied_rev=rev))
    batch.update_change(
        ChangeUpdate(
            n=k, state="settled", epoch=1, cmd_seq=rev, after=True, outcome="applied", seq=rev, settled_at_us=k
        )
    )
    topic = "config/GRAVITY_VECTOR_CHANGED"
    parts = EventParts("GRAVITY_VECTOR_CHANGED", "applied", "applied", before=True, after=True, slotted=True)
    batch.add_event(EventRow(n=k, arm=arm, seq=rev, epoch=1, prev=rev - 1, rev=rev, at_us=k, topic=topic, parts=parts))
    batch.audit(ENTRY)


def publish(batch: Batch, k: int) -> None:
    """Marks of what the MQTT server took."""
    batch.mark_published(*_place(k))


def _place(k: int) -> tuple[str, int]:
    return f"arm{k % ARMS}", k // ARMS + 1


def _arm(batch: Batch, arm: str, rev: int, mode: int = 0) -> None:
    batch.put_arm(ArmRow(arm=arm, rev=rev, seq=rev, cmd_seq=rev, adopted=True, description=DESCRIPTION, heads=HEADS))
    batch.put_item(
        ItemRow(
            arm=arm, key="gravity_vector", mode=mode, desired=VALUE, desired_rev=rev, last_rev=rev, reported=VALUE,
            set_by=SET_BY,
        )
    )  # fmt: skip


def meet(writer: Writer) -> None:
    """All arms are met, with their slots."""
    batch = Batch()
    for at in range(ARMS):
        for mode in range(SLOTS):
            _arm(batch, f"arm{at}", 0, mode)
    writer.commit(batch).result()


def run(writer: Writer, first: int, count: int, size: int) -> list[tuple[float, float]]:
    """CPU (all threads) spent on making rows and on the store, in µs per change, for each group."""
    costs: list[tuple[float, float]] = []
    marks: set[int] = set()
    groups = [range(k, min(k + size, first + count)) for k in range(first, first + count, size)]
    empty = range(0)
    for new, old, older in zip([*groups, empty, empty], [empty, *groups, empty], [empty, empty, *groups], strict=True):
        start = time.process_time()
        batch = Batch()
        for k in new:
            accept(batch, k)
        for k in old:
            settle(batch, k)
        marks.update(older)
        if len(costs) % MARKED == 0:
            for k in marks:
                publish(batch, k)
            marks.clear()
        middle = time.process_time()
        writer.commit(batch).result()
        end = time.process_time()
        costs.append(((middle - start) / size * 1e6, (end - middle) / size * 1e6))
    return costs


def main() -> None:
    """Print a line per group size; the argument is the directory to write in (default: the system's)."""
    place = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        path = Path(name) / "bench.sqlite3"
        connection = connect(path)
        migrate(connection, path)
        writer = Writer(connection, own_anchor(connection))
        meet(writer)
        first = 1
        for size, count in ((1, 2_000), (8, 8_000), (32, 16_000), (128, 16_000)):
            making, storing = zip(*run(writer, first, count, size), strict=True)
            first += count
            print(
                f"group {size:4}: store {mean(storing):6.1f} us/change, lower quartile {quantiles(storing)[0]:6.1f} "
                f"(and {mean(making):5.1f} to make the rows)"
            )
        writer.close()
        known(Path(name), first - 1)
        for size, count in ((1, 300), (32, 3_200), (64, 6_400)):
            print(f"group {size:4}: {written(Path(name), size, count):5.1f} KiB written a change")


def written(directory: Path, size: int, count: int) -> float:
    """KiB of the write-ahead log that a change makes in a new store."""
    path = directory / f"written-{size}.sqlite3"
    connection = connect(path)
    migrate(connection, path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
    writer = Writer(connection, own_anchor(connection))
    log = path.with_name(f"{path.name}-wal")
    meet(writer)
    run(writer, 1, ARMS, 64)
    before = log.stat().st_size
    run(writer, ARMS + 1, count, size)
    after = log.stat().st_size
    writer.close()
    return (after - before) / count / 1024


def known(directory: Path, highest: int) -> None:
    """Print the cost of one look-up of a request."""
    (directory / "bench.sqlite3").rename(directory / "store.sqlite3")
    store = Store.open(directory, lambda: 0)
    numbers = range(1, highest, 7)
    start = time.process_time()
    for k in numbers:
        assert store.known("alice", "alice-hmi", f"0190{k:028x}") is not None  # noqa: S101 - a bench checks itself
    print(f"known: {(time.process_time() - start) / len(numbers) * 1e6:.1f} us")
    store.close()


if __name__ == "__main__":
    main()
