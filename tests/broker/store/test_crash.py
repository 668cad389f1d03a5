"""A real process is killed at random moments; what it was told to be committed must be there, and whole."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from broker.store.store import FILE, Store
from tests.stored import audited, jobs

ROOT = Path(__file__).resolve().parents[3]
SEED = 20261130
CHILD = """
import asyncio, os, sys
from pathlib import Path
from broker.store import batch as module
from broker.store.rows import ArmRow, ChangeRow, ChangeUpdate, EventRow, ItemRow, RequestRow, RequestUpdate
from broker.store.store import Store

BODY = b"e" * 500
module.MOST_LATE = 100  # so many that they are written now and then

def accept(batch, n, arm, rev):
    batch.put_arm(ArmRow(arm=arm, rev=rev, seq=rev - 1))
    batch.add_request(RequestRow(n=n, user="u", conn="c", id=f"id-{n}", fingerprint=b"f", arm=arm, method="m", at_us=n))
    batch.add_change(ChangeRow(
        n=n, arm=arm, rev=rev, verb="set", key="k", at_us=n, user="u", conn="c", method="m", request_id=f"u/c/id-{n}"
    ))
    batch.audit(b"accepted %d" % n)

def settle(batch, n, arm, rev):
    batch.put_arm(ArmRow(arm=arm, rev=rev, seq=rev))
    batch.put_item(ItemRow(arm=arm, key="k", last_rev=rev))
    batch.update_request(RequestUpdate(n=n, outcome=b"done", reply_open=True, rev=rev))
    batch.update_change(ChangeUpdate(n=n, state="settled", outcome="applied", seq=rev, settled_at_us=n))
    batch.add_event(EventRow(n=n, arm=arm, seq=rev, epoch=1, prev=rev - 1, rev=rev, at_us=n, topic="t", body=BODY))
    batch.audit(b"settled %d" % n)

async def one(store, arm, n, rev):
    for stage in (accept, settle):
        done = asyncio.get_running_loop().create_future()
        stage(store.batch, n, arm, rev)
        store.batch.on_commit(lambda: (os.write(1, f"{stage.__name__} {n}\\n".encode()), done.set_result(None)))
        store.flush_soon()
        await done

async def main():
    store = Store.open(Path(sys.argv[1]), lambda: 0)
    loaded = store.load()
    n = loaded.next_n
    revs = {arm.arm: arm.rev for arm in loaded.arms}
    while True:
        tasks = []
        for k in range(1 + n % 7):
            arm = f"arm{k}"
            revs[arm] = revs.get(arm, 0) + 1
            tasks.append(one(store, arm, n, revs[arm]))
            n += 1
        await asyncio.gather(*tasks)

asyncio.run(main())
"""


def killed_after(directory: Path, lines: int) -> dict[str, set[int]]:
    """Let the child write, kill it when it has told of `lines` commits, and return all numbers it told, by stage."""
    told: dict[str, set[int]] = {"accept": set(), "settle": set()}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(directory)], stdout=subprocess.PIPE, env=environment, cwd=ROOT
    ) as child:
        assert child.stdout is not None
        for count, line in enumerate(child.stdout, 1):
            if count == lines:
                child.send_signal(signal.SIGKILL)
            stage, n = line.decode().split()
            told[stage].add(int(n))
    return told


@pytest.mark.long
def test_what_was_told_survives_kill_9(tmp_path: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311 - trials that can be repeated
    for _ in range(6):
        told = killed_after(tmp_path, chance.randint(1, 400))
        assert told["accept"]
        store = Store.open(tmp_path, lambda: 0)
        store.close()
        with closing(sqlite3.connect(tmp_path / FILE)) as connection:
            check(connection, told)


def check(connection: sqlite3.Connection, told: dict[str, set[int]]) -> None:
    """Compare what the file holds with what was told, and its tables with each other."""
    found = jobs(connection)
    accepted = [one.request.n for one in found if one.request is not None]
    assert accepted == list(range(1, len(accepted) + 1))
    assert accepted == [one.change.n for one in found if one.change is not None]
    assert told["accept"] <= set(accepted)
    settled = [one.change.n for one in found if one.change is not None and one.change.state == "settled"]
    assert settled == [one.request.n for one in found if one.request is not None and one.request.outcome]
    assert settled == [one.event.n for one in found if one.event is not None]
    assert told["settle"] <= set(settled)
    assert len(audited(connection)) == len(accepted) + len(settled)
    revs = "SELECT max(abs(rev - (SELECT count(*) FROM job WHERE job.arm = arm.arm))) FROM arm"
    assert connection.execute(revs).fetchall() == [(0,)]
    last = "SELECT max(rev) FROM job WHERE job.arm = item.arm AND state = 'settled'"
    slots = f"SELECT max(abs(last_rev - ({last}))), count(*) FROM item"  # noqa: S608 - constants
    assert connection.execute(slots).fetchall() == [(0, len({one.event.arm for one in found if one.event}))]
