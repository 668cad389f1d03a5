"""Rows that are not what was written, at a start: named, left out, and their arms marked for somebody to confirm."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from broker.life import State
from broker.store import job, meta_keys
from broker.store.audit import counts
from broker.store.digest import digest
from broker.store.eras import HIGHEST_REV, OF_ARM_BY_SEQ, OF_SEQS
from broker.store.errors import REMEDY, StoreBrokenError
from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    Damage,
    FirstRow,
    ItemRow,
    PlanArmRow,
    PlanRow,
    RequestRow,
)
from broker.store.seals import Seal, Sealed, Values, agrees, all_rows, each_row, meant, selected
from broker.store.service_row import Service, read_service, write_service
from broker.store.tables import ARM, ARMS, DESCRIPTION, META, PLAN, PLAN_ARM, PRINCIPAL, PUBLISHED
from schema.arms import FLEET

R = TypeVar("R", bound=msgspec.Struct)

HOLDING = frozenset({"arm", "description", "item", "first_value", "ground", "override", "job"})
"""Tables that say what an arm is, or should have: a damaged row of them, of a job one without an end, holds its arm."""
_OPEN = f"""SELECT {job.SELECT} FROM job WHERE n IN (
        SELECT n FROM job WHERE state IN ('pending', 'held')
        UNION SELECT n FROM job WHERE n >= ? AND state <> 'settled'
    ) ORDER BY n"""
ENDED = "damaged"
"""The outcome of a change whose row was damaged before it had an end."""


def open_jobs(connection: sqlite3.Connection) -> Iterator[tuple[job.Job, ChangeRow | None]]:
    """The jobs without an end in their order, with their changes; None for a damaged one."""
    for row in map(job.Job, all_rows(connection, _OPEN, (counts(connection).open_n,))):
        yield row, row.change() if row.tells else None


# ruff: noqa: S608 - every statement is built from constants
class Repair:
    """Reads the tables of a start inside its transaction, and puts right what it has to leave out."""

    def __init__(self, connection: sqlite3.Connection, known: Iterable[Damage]) -> None:
        self._connection = connection
        self.damages: list[Damage] = list(known)
        self._held: dict[str, list[str]] = {}
        """Damaged rows by the arm that they name, which may be damaged, too."""
        self._told: dict[str, list[str]] = {}
        """Damaged small values by their arm."""
        self._slots: Counter[str] = Counter()
        """How many slots each arm has."""

    # ------------------------------------------------------------------ reading

    def _good(self, seal: Seal) -> list[Values]:
        """The covered columns of all rows that are what was written; the table is left with those alone.

        Texts and bytes that are equal are there once: arms of one model have most of them in common.
        """
        good: list[Values] = []
        damaged: list[Values] = []
        share, count = dict[str | bytes, str | bytes]().setdefault, len(seal.columns)
        for values in each_row(self._connection, f"SELECT {selected(seal)} FROM {seal.table}"):
            if agrees(seal, values):
                good.append(tuple([share(one, one) if isinstance(one, str | bytes) else one for one in values[:count]]))
            else:
                damaged.append(values)
        if damaged:
            for values in damaged:
                self._note(seal.names(meant(seal, values)))
            self._rewrite(seal, good)
        return good

    def _rewrite(self, seal: Seal, good: list[Values]) -> None:
        marks = ", ".join("?" * (len(seal.columns) + 1))
        self._connection.execute(f"DELETE FROM {seal.table}")
        self._connection.executemany(
            f"INSERT INTO {seal.table} ({selected(seal)}) VALUES ({marks})",
            [(*values, digest(values)) for values in good],
        )

    def state(self, sealed: Sealed[R]) -> list[R]:
        """All rows of a table that says how things are."""
        (seal,) = sealed.seals
        return [sealed.of(values) for values in sorted(self._good(seal), key=lambda values: values[:3])]

    def unsettled(self) -> tuple[list[ChangeRow], list[RequestRow]]:
        """The changes without an end and the requests that ask for them; a damaged one gets one: nobody knows it."""
        changes: list[ChangeRow] = []
        requests: list[RequestRow] = []
        damaged: list[int] = []
        for row, change in open_jobs(self._connection):
            if change is None:
                damaged.append(row.n)
                self._note(row.damage)
                continue
            changes.append(change)
            if row.reply is None:
                self.damages.append(row.damage)
            elif (request := row.request()) is not None:
                requests.append(request)
        self.end_changes(damaged)
        return changes, requests

    def _note(self, damage: Damage) -> None:
        """Name a damaged row, and remember whose it is."""
        if damage.table == META.table:
            prefix = next((one for one in (*meta_keys.OF_ARMS, meta_keys.DAMAGED) if damage.key.startswith(one)), None)
            if prefix is not None:
                damage = msgspec.structs.replace(damage, arm=damage.key.removeprefix(prefix))
        if damage not in self.damages:
            self.damages.append(damage)
        what = f"{damage.table} {damage.key}".rstrip()
        if damage.table in HOLDING:
            self._hold(damage.arm, what)
        elif damage.table == META.table and damage.arm and not damage.key.startswith(meta_keys.RECIPE):
            self._told.setdefault(damage.arm, []).append(what)

    def _hold(self, arm: str, what: str) -> None:
        of_arm = self._held.setdefault(arm, [])
        if what not in of_arm:
            of_arm.append(what)

    # ------------------------------------------------------------------ the service

    def service(self) -> Service:
        """The row of the service, which was looked at before.

        Raises:
            StoreBrokenError: it was damaged meanwhile.
        """
        row = read_service(self._connection)
        if row is None:
            raise StoreBrokenError(f"the row of the service is damaged: {REMEDY}")
        return row

    def meta(self) -> dict[str, str]:
        """The small values."""
        return dict(self._good(META))

    # ------------------------------------------------------------------ arms

    def arms(self, items: list[ItemRow], firsts: list[FirstRow]) -> list[ArmRow]:
        """Every arm that has rows; one whose own row is damaged goes on above everything that is numbered."""
        published: dict[str, int] = dict(self._good(PUBLISHED))
        descriptions: dict[str, bytes] = dict(self._good(DESCRIPTION))
        found = {values[0]: dict(zip(ARM.columns, values, strict=True)) for values in self._good(ARM)}
        named = {row.arm for row in items} | {row.arm for row in firsts} | descriptions.keys()
        named |= {damage.arm for damage in self.damages if damage.table == ARM.table}
        for arm in sorted(named - found.keys()):
            found[arm] = self._numbered_anew(arm, items)
            self._hold(arm, "arm")
        self._slots = Counter(dict.fromkeys(found.keys() - {FLEET}, 0))
        self._slots.update(row.arm for row in items)
        return [
            ArmRow(
                **{**row, "adopted": bool(row["adopted"])},
                published_seq=published.get(arm, 0),
                description=descriptions.get(arm, b""),
            )
            for arm, row in sorted(found.items())
        ]

    def _numbered_anew(self, arm: str, items: list[ItemRow]) -> dict[str, Any]:
        found = self._connection.execute(HIGHEST_REV, (arm,)).fetchone()
        rev = max(0 if found is None else found[0], *(row.last_rev for row in items if row.arm == arm), 0)
        seq, heads = self._last_events(arm)
        row = ArmRow(arm=arm, rev=rev, seq=seq, heads=msgspec.json.encode(heads))
        self._connection.execute(ARMS.put.text(1), ARMS.make(row))
        return {name: getattr(row, name) for name in ARM.columns}

    def _last_events(self, arm: str) -> tuple[int, dict[str, int]]:
        """The last seq of an arm, and that of each topic, as its events have them."""
        last, heads = 0, {}
        query = f"{OF_SEQS} SELECT {job.SELECT}, seq FROM era CROSS JOIN job ON {OF_ARM_BY_SEQ} ORDER BY seq"
        for *values, seq in all_rows(self._connection, query, (arm,)):
            row, last = job.Job(tuple(values)), seq
            event = row.event() if row.tells else None
            if event is not None:
                heads[event.topic] = seq
        return last, heads

    def _held_arms(self) -> dict[str, list[str]]:
        """The damaged rows of each arm; one of an arm that nobody knows may be of any that has fewer rows than others.

        Where all have as many, it may be of any.
        """
        held = {arm: [*rows] for arm, rows in self._held.items() if arm in self._slots}
        lost = [what for arm, rows in self._held.items() if arm not in {*self._slots, FLEET} for what in rows]
        if lost:
            most = max(self._slots.values(), default=0)
            for arm in [one for one, count in self._slots.items() if count < most] or self._slots:
                held.setdefault(arm, []).extend(f"{what} of an arm whose name is damaged" for what in lost)
        for arm, rows in self._told.items():
            held.setdefault(arm, []).extend(rows)
        return held

    def doubt(self, changes: Mapping[int, str]) -> None:
        """These changes may be open: they are over, and their arms are held."""
        for n, arm in changes.items():
            self._hold(arm, f"change {n}")
        self.end_changes(changes.keys())

    def end_changes(self, numbers: Iterable[int]) -> None:
        """Nobody knows what these changes were: they are over, whatever they were."""
        for n in numbers:
            over = ChangeUpdate(n=n, state=State.SETTLED, outcome=ENDED)
            self._connection.execute(job.PROGRESSED.text(1), job.progressed(over, None, 0))

    # ------------------------------------------------------------------ what can be made anew

    def principals(self) -> dict[str, int]:
        """Numbers of users and connections; a damaged one is never given to anybody else."""
        before = len(self.damages)
        known: dict[str, int] = dict(self._good(PRINCIPAL))
        lost = len(self.damages) - before
        free = sorted(set(range(1, len(known) + lost + 1)) - set(known.values()))
        for number in free[:lost]:
            name = f"damaged:{number}"
            known[name] = number
            self._connection.execute("INSERT INTO principal VALUES (?, ?, ?)", (name, number, digest((name, number))))
        return known

    # ------------------------------------------------------------------ plans

    def plans(self) -> list[tuple[PlanRow, list[PlanArmRow]]]:
        """The plans that are not settled, and their rows; a damaged one is left out, and stays as it is."""
        rows = Sealed(PlanArmRow, PLAN_ARM)
        plans = self._sound(PLAN, Sealed(PlanRow, PLAN), "settled = 0")
        return [(plan, self._sound(PLAN_ARM, rows, f"plan_n = {plan.n}")) for plan in plans]

    def _sound(self, seal: Seal, sealed: Sealed[R], where: str) -> list[R]:
        found: list[R] = []
        for values in all_rows(self._connection, f"SELECT {selected(seal)} FROM {seal.table} WHERE {where}"):
            if agrees(seal, values):
                found.append(sealed.of(values))
            else:
                self._note(seal.names(meant(seal, values)))
        return found

    # ------------------------------------------------------------------ marks

    def write_back(self, service: Service, values: dict[str, str], meta: dict[str, str]) -> None:
        """Begin the new epoch, and mark the arms whose rows were damaged, in the file and in `meta`."""
        write_service(self._connection, service)
        for arm, rows in self._held_arms().items():
            known = meta.get(meta_keys.DAMAGED + arm, "")
            meta[meta_keys.DAMAGED + arm] = "; ".join(([known] if known else []) + [", ".join(rows)])
            values[meta_keys.DAMAGED + arm] = meta[meta_keys.DAMAGED + arm]
        for key, value in {**values, meta_keys.EPOCH: str(service.epoch)}.items():
            self._connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", (key, value, digest((key, value))))
