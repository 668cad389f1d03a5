"""Rows of arms and slots that are written late.

Those lie all over the file. What a commit makes of them goes into `late`, behind those of the commits before; the row
of an arm goes with that of one of its slots. Once many are late a commit writes the last of each in its own table, and
empties `late`. A start does so before anything else.
"""

import sqlite3

from broker.store.batch import Late
from broker.store.rows import Damage
from broker.store.seals import agrees, all_rows, meant, selected
from broker.store.statements import of_late
from broker.store.tables import LATE, read_late
from broker.store.transaction import transaction


def put_back(connection: sqlite3.Connection) -> list[Damage]:
    """Write what is late, in a transaction of its own; what was damaged.

    Where a late row is not what was written, the rows that it was to take the place of become damaged ones: they may be
    older.
    """
    late, damages = Late(), dict[Damage, None]()
    found = all_rows(connection, f"SELECT {selected(LATE)} FROM late ORDER BY rowid")  # noqa: S608 - constants
    for values in found:
        if not agrees(LATE, values):
            damages[LATE.names(meant(LATE, values))] = None
            continue
        item, row = read_late(*values[1:3])
        late.add({} if row is None else {row.arm: row}, {} if item is None else {(item.arm, item.key, item.mode): item})
    if not found:
        return []
    with transaction(connection):
        for statement, rows in of_late(late):
            connection.executemany(statement.text(1), rows)
        for damage in damages:
            _spoil(connection, damage.arm, damage.key)
            _spoil(connection, damage.arm, "")
    return list(damages)


def _spoil(connection: sqlite3.Connection, arm: str, slot: str) -> None:
    """Let a row agree with nothing; where there is none of that name all of its arm, or of all arms."""
    key, _, mode = slot.rpartition("/")
    if slot:
        done = connection.execute("UPDATE item SET hash = 0 WHERE arm = ? AND key = ? AND mode = ?", (arm, key, mode))
    else:
        done = connection.execute("UPDATE arm SET hash = 0 WHERE arm = ?", (arm,))
    if not done.rowcount:
        (known,) = connection.execute("SELECT count(*) FROM arm WHERE arm = ?", (arm,)).fetchone()
        for table in ("arm", "item"):
            connection.execute(f"UPDATE {table} SET hash = 0 WHERE arm = ? OR ? = 0", (arm, known))  # noqa: S608
