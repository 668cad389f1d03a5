"""Tables are declared once: what the program writes is what the file has, and rows say all that their structs say."""

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from broker.life import State
from broker.store import job
from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    EventParts,
    EventRow,
    FirstRow,
    GroundRow,
    HandleRow,
    ItemRow,
    OverrideRow,
    PlanArmRow,
    PlanRow,
    RecipeRow,
    RequestRow,
    RequestUpdate,
    Terms,
)
from broker.store.schema import connect, migrate
from broker.store.seals import agrees
from broker.store.tables import (
    ARMS,
    AUDIT_COLUMNS,
    DESCRIPTIONS,
    FIRSTS,
    GROUNDS,
    HANDLES,
    ITEMS,
    LATES,
    METAS,
    OVERRIDES,
    PLAN_ARMS,
    PLANS,
    PRINCIPALS,
    PUBLISHED_SEQS,
    RECIPES,
    SERVICE,
    TABLES,
)

ROWS = {
    ARMS: ArmRow(arm="a", rev=1, adopted=True, serial="s"),
    DESCRIPTIONS: ("a", b"description"),
    PUBLISHED_SEQS: ("a", 3),
    ITEMS: ItemRow(arm="a", key="k", desired=b"d", reported=b"r"),
    FIRSTS: FirstRow(arm="a", key="k", value=b"v"),
    HANDLES: HandleRow(identifier=1, user="u", conn="c", arm="a", topic="t", created_us=1, last_seen_us=2),
    RECIPES: RecipeRow(
        name="weld", version=3, body=b"{}", digest="d", note="n", user="u", conn="c", proven=True, at_us=5
    ),
    PRINCIPALS: ("user:u", 1),
    METAS: ("key", "value"),
    GROUNDS: GroundRow(arm="a", key="k", value=b"v"),
    OVERRIDES: OverrideRow(arm="a", rev=3, body=b"b"),
    PLANS: PlanRow(n=1, request_n=2, kind="group", state="running", user="u", at_us=3, asked=b"a", progress=b"p"),
    LATES: (ItemRow(arm="a", key="k", mode=3, desired=b"d", reported=b"r"), ArmRow(arm="a", rev=4)),
    PLAN_ARMS: PlanArmRow(plan_n=1, arm="a", state="stored", change_n=4, error=b"e"),
}
REQUEST = RequestRow(
    n=7, user="u", conn="c", id="i", fingerprint=b"f", arm="a", method="M", at_us=5, address="to", correlation=b"x",
    codec="json", outcome=b"o", settled=True, reply_open=True, rev=3, key=77,
)  # fmt: skip
CHANGE = ChangeRow(
    n=7, arm="a", rev=3, verb="set", key="k", mode=2, before=b"b", after=b"w", state=State.WRITING, epoch=4,
    cmd_seq=9, at_us=5, expires_us=6, loosening=True, user="u", conn="c", proven=True, request_id="u/c/i", method="M",
    reason="r", warnings=b"[]", terms=Terms(until_us=9, recipe="weld@3", plan=17, approved_by="bob", ground=b"g"),
)  # fmt: skip
UPDATE = ChangeUpdate(n=7, state="settled", epoch=4, cmd_seq=10, after=b"x", outcome="clamped", seq=2, settled_at_us=8)
EVENT = EventRow(n=7, arm="a", seq=2, epoch=4, prev=1, rev=3, at_us=8, topic="t", body=b"{}")


def values_of(row: tuple[object, ...]) -> tuple[object, ...]:
    """As SQLite gives them."""
    return tuple(bytes(value) if isinstance(value, bytearray) else value for value in row)


def test_every_table_is_declared_with_its_columns(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "file")) as connection:
        migrate(connection, tmp_path / "file")
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = {
            name: {column for (column,) in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))}
            for name in names
            if not name.startswith("sqlite_")
        }
    declared = {table.seal.table: {*table.seal.columns, table.seal.hash} for table in TABLES}
    declared |= {
        "job": set(job.COLUMNS),
        "audit": set(AUDIT_COLUMNS),
        "service": {*SERVICE.columns, "hash", "test_writes"},
    }
    assert found == declared


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.seal.table)
def test_a_row_agrees_with_its_hash_and_goes_into_its_statement(table: object, tmp_path: Path) -> None:
    (known,) = [one for one in TABLES if one is table]
    row = known.make(ROWS[known])
    assert agrees(known.seal, values_of(row))
    with closing(connect(tmp_path / "file")) as connection:
        migrate(connection, tmp_path / "file")
        connection.execute(known.put.text(1), row)


def test_a_job_says_all_that_its_request_and_its_change_say() -> None:
    """Every field differs from its default, so that none can be forgotten."""
    for given in (REQUEST, CHANGE):
        defaults = {field.name: field.default for field in msgspec.structs.fields(given)}
        assert {name for name, default in defaults.items() if getattr(given, name) == default} <= {"starts"}
    row = job.Job(values_of(job.added(REQUEST, CHANGE, None, None, 0)))
    assert row.whole
    assert row.change() == CHANGE
    assert row.request() == msgspec.structs.replace(REQUEST, settled=False)
    assert job.Job(values_of(job.added(REQUEST, None, None, None, 0))).request() == REQUEST
    row = job.Job(values_of(job.added(REQUEST, CHANGE, UPDATE, EVENT, 0)))
    assert row.request() == REQUEST
    assert row.event() == EVENT
    past = row.past()
    assert past is not None
    assert (past.after, past.outcome, past.seq, past.settled_at_us, past.state) == (b"x", "clamped", 2, 8, "settled")


def test_an_updated_job_is_the_one_that_was_added_so() -> None:
    whole = values_of(job.added(REQUEST, CHANGE, UPDATE, EVENT, 0))
    answer = RequestUpdate(n=7, outcome=b"o", reply_open=True, rev=3)
    state, seq, era, ended, owed, reply, n = values_of(job.at_its_end(UPDATE, EVENT, answer, 0))
    assert (state, seq, ended, owed, reply, n) == (*whole[job.STATE : job.REV_ERA], 7)
    assert values_of(job.progressed(UPDATE, EVENT, 0)) == (state, seq, era, ended, 7)
    assert values_of(job.answered(answer)) == (job.OWED, reply, 7)


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (job.N, 8), (job.KEY, 3), (job.ARM, "b"), (job.REV, 4), (job.ITEM, 1), (job.AT, 6), (job.ACCEPTED, b"x"),
        (job.STATE, "held"), (job.SEQ, 3), (job.ENDED, None), (job.OPEN, 84), (job.REPLY, b""),
        (job.REV_ERA, 1), (job.SEQ_ERA, 1),
    ],
)  # fmt: skip
def test_no_column_can_differ_unseen(at: int, value: object) -> None:
    values = [*values_of(job.added(REQUEST, CHANGE, UPDATE, EVENT, 0))]
    assert job.Job(tuple(values)).whole
    values[at] = value
    assert not job.Job(tuple(values)).whole


def test_every_flipped_bit_of_a_blob_is_seen() -> None:
    values = [*values_of(job.added(REQUEST, CHANGE, UPDATE, EVENT, 0))]
    for at in (job.ACCEPTED, job.ENDED, job.REPLY):
        blob = values[at]
        assert isinstance(blob, bytes)
        for bit in range(8 * len(blob)):
            other = bytearray(blob)
            other[bit // 8] ^= 1 << bit % 8
            assert not job.Job((*values[:at], bytes(other), *values[at + 1 :])).whole


def test_owed_replies_are_three_values_of_which_no_flip_makes_another() -> None:
    known = (0, job.OWED_WITH_EVENT, job.OWED)
    assert all((one ^ other).bit_count() > 1 for one in known for other in known if one != other)


def test_what_an_event_shares_with_its_change_is_there_once() -> None:
    parts = EventParts("TOOL_CHANGED", "applied", "applied", before=True, after=True, slotted=True)
    event = EventRow(n=7, arm="a", seq=2, epoch=4, prev=1, rev=3, at_us=8, topic="config/TOOL_CHANGED", parts=parts)
    found = job.Job(values_of(job.added(REQUEST, CHANGE, UPDATE, event, 0))).event()
    assert found is not None
    told = msgspec.structs.replace(parts, before=b"b", after=b"x")
    assert found == msgspec.structs.replace(event, parts=told)


def test_a_change_that_is_of_another_request_is_not_put_into_its_row() -> None:
    with pytest.raises(ValueError, match="change 7 is not of request 7"):
        job.added(REQUEST, msgspec.structs.replace(CHANGE, user="v"), None, None, 0)
