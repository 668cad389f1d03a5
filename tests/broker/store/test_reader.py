import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from broker.store import eras, job, reader, repair, retention
from broker.store.digest import AUDIT_START
from broker.store.rows import ChangeRow, ChangeUpdate, EventRow
from broker.store.schema import connect, connect_reader, migrate
from broker.store.store import FILE, Store
from broker.store.tables import AuditHead

TOP = 2**64


@pytest.fixture
def filled(
    reopen: Callable[[], Store], make_change: Callable[..., ChangeRow], make_event: Callable[..., EventRow]
) -> Store:
    """Ten revisions of arm1 on two items, one unchanged change, another arm, and ten events."""
    store = reopen()
    for n in range(1, 11):
        store.batch.add_change(make_change(n, key="payload" if n % 2 else "gravity"))
        store.batch.add_event(make_event(n, topic="mode" if n % 2 else "config/X", body=b"x" * 100))
    store.batch.add_change(make_change(11, rev=0))
    store.batch.add_change(make_change(12, rev=1, arm="arm2"))
    store.batch.update_change(ChangeUpdate(n=1, state="settled", after=b"z", outcome="clamped", seq=4, settled_at_us=9))
    return reopen()


def test_history_is_newest_first_and_says_if_there_is_more(filled: Store) -> None:
    page = filled.history("arm1", 0, TOP, None, 4)
    assert [change.rev for change in page.changes] == [10, 9, 8, 7]
    assert page.more
    page = filled.history("arm1", 0, 7, None, 6)
    assert [change.rev for change in page.changes] == [6, 5, 4, 3, 2, 1]
    assert not page.more


def test_history_of_one_item_between_two_revisions(filled: Store) -> None:
    page = filled.history("arm1", 3, 9, "payload", 50)
    assert [change.rev for change in page.changes] == [7, 5]
    assert not page.more
    assert filled.history("arm1", TOP, TOP, None, 50).changes == []


def test_history_tells_how_a_change_ended(filled: Store) -> None:
    (first,) = filled.history("arm1", 0, 2, None, 1).changes
    assert (first.before, first.after, first.state, first.outcome) == (b"before", b"z", "settled", "clamped")
    assert (first.seq, first.settled_at_us) == (4, 9)
    assert (first.user, first.conn, first.proven, first.reason) == ("alice", "alice-hmi", True, "why")


def test_events_are_oldest_first_within_count_and_size(filled: Store) -> None:
    page = filled.events("arm1", 2, 3, 10_000)
    assert [event.seq for event in page.events] == [3, 4, 5]
    assert (page.first_seq, page.head_seq, page.more) == (1, 10, True)
    page = filled.events("arm1", 6, 50, 250)
    assert [event.seq for event in page.events] == [7, 8]
    assert page.more
    page = filled.events("arm1", 8, 2, 200)
    assert [event.seq for event in page.events] == [9, 10]
    assert not page.more


def test_one_event_is_given_whatever_its_size(filled: Store) -> None:
    page = filled.events("arm1", 9, 50, 1)
    assert [event.seq for event in page.events] == [10]
    assert not page.more


def test_an_arm_without_events_has_an_empty_page(filled: Store) -> None:
    page = filled.events("arm9", 0, 50, 1000)
    assert (page.events, page.first_seq, page.head_seq, page.more) == ([], 0, 0, False)
    assert filled.events("arm1", TOP, 50, 1000).head_seq == 10


def test_the_head_of_the_audit_chain(reopen: Callable[[], Store]) -> None:
    store = reopen()
    assert store.audit_head() == AuditHead(0, AUDIT_START)
    store.batch.audit(b"one")
    assert reopen().audit_head().n == 1


STATEMENTS = [
    reader._FIND, reader._BY_NUMBER, reader._OWED, eras.HISTORY, eras.EVENTS, eras.LATER, eras.FIRSTS,
    repair._OPEN,
    eras.REV_START, eras.SEQ_START, eras.LEAST_REV, eras.HIGHEST_REV, eras.LEAST_SEQ,
    eras.HIGHEST_SEQ,
    job.END.text(4), job.PROGRESSED.text(4), job.ANSWERED.text(4), job.REOPEN.text(1), job.REPLY_TAKEN.text(4),
]  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_statement_reads_a_whole_table(statement: str, tmp_path: Path) -> None:
    with closing(connect(tmp_path / FILE)) as connection:
        migrate(connection, tmp_path / FILE)
    with closing(connect_reader(tmp_path / FILE)) as connection:
        plan = plan_of(connection, statement)
    # Given rows and eras, and a partial index of few rows alone, may be read whole.
    harmless = re.compile("SCAN (new|found|era|some)|CONSTANT ROW|USING (COVERING )?INDEX job_(waiting|owed)")
    assert [step for step in plan if step.startswith("SCAN") and not harmless.search(step)] == []


def test_purges_go_by_number(tmp_path: Path) -> None:
    with closing(connect(tmp_path / FILE)) as connection:
        migrate(connection, tmp_path / FILE)
        for statement in (
            retention._DELETE,
            retention._DELETE_PLAIN,
            retention._LONG,
            retention._LEFT,
            retention._EARLIER,
        ):
            assert not any("SCAN" in step for step in plan_of(connection, statement))


def plan_of(connection: sqlite3.Connection, statement: str) -> list[str]:
    numbered = set(re.findall(r"\?\d", statement))
    parameters = [None] * (len(numbered) or statement.count("?"))
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
