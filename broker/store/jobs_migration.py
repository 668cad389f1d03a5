"""Version 6 of the file: requests, changes and events of version 5 become rows of one table.

The audit gets one row a commit. Numbers are given anew, in the order of time. A row that did not agree with its hash
gets one that agrees with nothing.
"""

from typing import Any

from broker.store.job import OWED, OWED_WITH_EVENT, code_of, key_of, sealed


def _accepted(*values: Any) -> bytes:
    """What was asked: six columns, user, connection, method, five values of the request, eleven of the change, state.

    The state is that of the change, its epoch and command number.
    """
    columns, (user, conn, method), request, change, state = (
        values[:6], values[6:9], values[9:14], values[14:25], values[25:],
    )  # fmt: skip
    full_id, verb, *rest = change
    wanted = None
    if verb is not None:
        known = request[0] is not None and full_id == f"{user}/{conn}/{request[0]}"
        key, mode, before, after, expires_us, loosening, proven, *texts = rest
        flags = (bool(loosening), bool(proven))
        wanted = (None if known else full_id, verb, key, mode, before, after, expires_us, *flags, *texts)
    return bytes(sealed((*columns, user, conn, method, None if request[0] is None else request, wanted, *state)))


def _ended(*values: Any) -> bytes | None:
    """How far it got: three columns, six values of the change, six of the event; nothing of a request alone."""
    columns, change, event = values[:3], values[3:9], values[9:]
    told = None if event[0] is None else (*event, None)
    if change[0] is None:
        return None if told is None else bytes(sealed((*columns, 0, 0, None, "", 0, 0, told)))
    return bytes(sealed((*columns, *change, told)))


def _reply(*values: Any) -> bytes | None:
    """What was answered: number, revision and outcome."""
    return None if values[2] is None else bytes(sealed(values))


JOBS_FUNCTIONS = (
    ("v6_accepted", _accepted), ("v6_ended", _ended), ("v6_reply", _reply), ("v6_key", key_of), ("v6_code", code_of),
)  # fmt: skip
"""What the statements call, by name."""

_CHANGE = (
    "c.n, c.request_n, c.arm, c.rev, c.verb, c.key, c.mode, c.before, c.at_us, c.expires_us, c.loosening, c.user, "
    "c.conn, c.proven, c.request_id, c.method, c.reason, c.warnings"
)
_PROGRESS = "c.n, c.state, c.epoch, c.cmd_seq, c.after, c.outcome, c.seq, c.settled_at_us"
_REQUEST = "r.n, r.user, r.conn, r.id, r.fingerprint, r.arm, r.method, r.at_us, r.address, r.correlation, r.codec"
_EVENT = "e.arm, e.seq, e.epoch, e.prev, e.rev, e.at_us, e.topic, e.body"
_ARM = "arm, rev, seq, cmd_seq, adopted, serial, read_at_us, mode_seen_at_us"


# ruff: noqa: S608 - every statement is built from constants
def _damaged(column: str, table: str, differs: str) -> str:
    """Let rows agree with nothing that came of damaged ones."""
    letter = table[0]
    key = "rowid" if table == "event" else "n"
    joined = f"moved JOIN {table} AS {letter} ON {letter}.{key} = moved.{letter}"
    return f"UPDATE job SET {column} = x'' WHERE n IN (SELECT moved.n FROM {joined} WHERE {differs})"


_NUMBERED = (
    "CREATE INDEX moved_seq ON change (arm, seq)",
    "CREATE TABLE found (at_us INTEGER NOT NULL, c INTEGER NOT NULL, r INTEGER NOT NULL, e INTEGER NOT NULL) STRICT",
    """INSERT INTO found SELECT c.at_us, c.n, coalesce(r.n, 0), coalesce(e.rowid, 0) FROM change AS c
        LEFT JOIN request AS r ON c.request_n > 0 AND r.n = c.request_n AND r.user = c.user AND r.conn = c.conn
            AND r.method = c.method
        LEFT JOIN event AS e ON c.seq > 0 AND e.arm = c.arm AND e.seq = c.seq AND NOT EXISTS (
            SELECT 1 FROM change AS later WHERE later.arm = c.arm AND later.seq = c.seq AND later.n > c.n)
        WHERE c.outcome <> 'reopened'""",
    "INSERT INTO found SELECT at_us, 0, n, 0 FROM request WHERE n NOT IN (SELECT r FROM found)",
    "INSERT INTO found SELECT at_us, 0, 0, rowid FROM event WHERE rowid NOT IN (SELECT e FROM found)",
    "CREATE TABLE moved (n INTEGER PRIMARY KEY, c INTEGER NOT NULL, r INTEGER NOT NULL, e INTEGER NOT NULL) STRICT",
    "INSERT INTO moved SELECT row_number() OVER (ORDER BY at_us, c, r, e), c, r, e FROM found",
    "DROP TABLE found",
)
_COLUMNS = """moved.n, CASE WHEN r.n IS NULL THEN 0 ELSE v6_key(r.user, r.conn, r.id) END,
    coalesce(c.arm, r.arm, e.arm), coalesce(c.rev, 0), v6_code(coalesce(c.key, '')),
    coalesce(c.at_us, r.at_us, e.at_us)"""
_STATE = "coalesce(c.state, 'settled'), coalesce(e.seq, 0)"
_JOBS = (
    """CREATE TABLE job (
        n INTEGER PRIMARY KEY, key INTEGER NOT NULL, arm TEXT NOT NULL, rev INTEGER NOT NULL, item INTEGER NOT NULL,
        at_us INTEGER NOT NULL, accepted BLOB NOT NULL, state TEXT NOT NULL, seq INTEGER NOT NULL, ended BLOB,
        reply_open INTEGER NOT NULL, reply BLOB
    ) STRICT""",
    f"""INSERT INTO job SELECT {_COLUMNS},
        v6_accepted({_COLUMNS}, coalesce(c.user, r.user, ''), coalesce(c.conn, r.conn, ''),
            coalesce(c.method, r.method, ''), r.id, r.fingerprint, r.address, r.correlation, r.codec,
            c.request_id, c.verb, c.key, c.mode, c.before, c.after, c.expires_us, c.loosening, c.proven, c.reason,
            c.warnings, coalesce(c.state, 'settled'), coalesce(c.epoch, 0), coalesce(c.cmd_seq, 0)),
        {_STATE},
        v6_ended(moved.n, {_STATE}, c.epoch, c.cmd_seq, c.after, c.outcome, c.seq, c.settled_at_us,
            e.epoch, e.prev, e.rev, e.at_us, e.topic, e.body),
        CASE WHEN coalesce(r.reply_open, 0) = 0 THEN 0 WHEN e.seq > coalesce(p.seq, 0) THEN {OWED_WITH_EVENT}
            ELSE {OWED} END, v6_reply(moved.n, r.rev, r.outcome)
        FROM moved LEFT JOIN change AS c ON c.n = moved.c LEFT JOIN request AS r ON r.n = moved.r
        LEFT JOIN event AS e ON e.rowid = moved.e LEFT JOIN published AS p ON p.arm = e.arm""",
    _damaged("accepted", "change", f"digest({_CHANGE}) <> c.hash"),
    _damaged("accepted", "request", f"digest({_REQUEST}) <> r.hash"),
    _damaged("ended", "change", f"digest({_PROGRESS}) <> c.progress_hash"),
    _damaged("ended", "event", f"digest({_EVENT}) <> e.hash"),
    _damaged("reply", "request", "digest(r.n, r.outcome, r.settled, r.rev) + r.reply_open <> r.progress_hash"),
    "CREATE INDEX job_key ON job (key) WHERE key <> 0",
    "CREATE INDEX job_revision ON job (arm, rev, item) WHERE rev > 0",
    "CREATE INDEX job_event ON job (arm, seq) WHERE seq > 0",
    "CREATE INDEX job_waiting ON job (n) WHERE state IN ('pending', 'held')",
    f"CREATE INDEX job_owed ON job (n) WHERE reply_open = {OWED}",
)
# Small values that name changes by their number.
_META = (
    "CREATE INDEX moved_change ON moved (c)",
    """UPDATE meta SET value = (SELECT json_group_object(moved.n, one.value) FROM json_each(meta.value) AS one
        JOIN moved ON moved.c = CAST(one.key AS INTEGER))
        WHERE key IN ('change_starts', 'fatal_reads') AND hash = digest(key, value) AND json_valid(value)""",
    "UPDATE meta SET hash = digest(key, value) WHERE key IN ('change_starts', 'fatal_reads') AND json_valid(value)",
)
_ARMS = (
    "ALTER TABLE arm ADD COLUMN heads BLOB NOT NULL DEFAULT x'7b7d'",
    """UPDATE arm SET heads = coalesce((SELECT CAST(json_group_object(topic, seq) AS BLOB) FROM topic_head
        WHERE topic_head.arm = arm.arm
        AND topic_head.hash = digest(topic_head.arm, topic, topic_head.seq)), x'7b7d')""",
    f"UPDATE arm SET hash = CASE WHEN hash = digest({_ARM}) THEN digest({_ARM}, heads) ELSE 0 END",
)
_AUDIT = (
    """CREATE TABLE batch (
        n INTEGER PRIMARY KEY, commits INTEGER NOT NULL, at_us INTEGER NOT NULL, open_n INTEGER NOT NULL,
        prev BLOB NOT NULL, entries BLOB NOT NULL, hash BLOB NOT NULL, seal INTEGER NOT NULL
    ) STRICT""",
    "INSERT INTO batch SELECT n, 0, 0, 0, prev, entry, hash, digest(n, 0, 0, 0) FROM audit",
    "DROP TABLE audit",
    "ALTER TABLE batch RENAME TO audit",
)

JOBS_MIGRATION = (
    *_NUMBERED, *_JOBS, *_META, *_ARMS, *_AUDIT,
    *(f"DROP TABLE {table}" for table in ("moved", "request", "change", "event", "topic_head")),
)  # fmt: skip
