"""Bits of a store that flip: each trial flips one in a copy, opens it, and compares all that it gives with the truth.

`python -m tests.campaigns.flips DIRECTORY SEED TRIALS` prints what came of it as JSON. The truth is the store before
the flip; whether a flip changed content is judged by a dump that knows nothing of hashes.
"""

import json
import os
import shutil
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from broker.store.errors import RowDamagedError, StoreError
from broker.store.meta_keys import RECIPE_FLOOR
from broker.store.rows import Damage, Loaded
from broker.store.store import FILE, Store
from tests.campaigns.defects import DEFECTS, VARIABLE
from tests.campaigns.figures import Figures
from tests.campaigns.people import dice_of
from tests.stored import requests

NOW_US = 1_900_000_000_000_000
HELD = "damaged/"
PAGE = 200
_UNTRUSTED = {("service", "test_writes")}
"""What nothing is ever decided by."""
_DERIVED = {"sqlite_sequence"}
Key = tuple[str, str, str]
Entry = tuple[int, int]
"""Revision and event of an entry of the history: acts of administration stand at the revision that they found."""


@dataclass
class Given:
    """All that a store gives."""

    loaded: Loaded
    told: list[Damage] = field(default_factory=list)
    history: dict[str, dict[Entry, Any]] = field(default_factory=dict)
    lost_revs: dict[str, set[int]] = field(default_factory=dict)
    events: dict[str, dict[int, Any]] = field(default_factory=dict)
    lost_seqs: dict[str, set[int]] = field(default_factory=dict)
    requests: dict[Key, Any] = field(default_factory=dict)
    """Known requests, None for those that are not known, "damaged" for those of which that is told."""


def given(directory: Path, keys: Iterable[Key], arms: Iterable[str]) -> Given:
    """Open a store and ask it for everything."""
    store = Store.open(directory, lambda: NOW_US)
    try:
        told: list[Damage] = []
        store.on_damage = told.append
        found = Given(store.load(), told)
        told.extend(found.loaded.damages)
        for arm in arms:
            _read_history(store, found, arm)
            _read_events(store, found, arm)
        for key in keys:
            try:
                found.requests[key] = store.find(*key)
            except RowDamagedError:
                found.requests[key] = "damaged"
        return found
    finally:
        store.close(clean=False)


def _read_history(store: Store, found: Given, arm: str) -> None:
    entries, lost = found.history.setdefault(arm, {}), found.lost_revs.setdefault(arm, set())
    before = 2**40
    while True:
        page = store.history(arm, 0, before, None, PAGE)
        entries.update(((change.rev, change.seq), change) for change in page.changes)
        lost.update(page.missing)
        if not page.more:
            return
        before = min([change.rev for change in page.changes] + page.missing)


def _read_events(store: Store, found: Given, arm: str) -> None:
    events, lost = found.events.setdefault(arm, {}), found.lost_seqs.setdefault(arm, set())
    after = 0
    while True:
        page = store.events(arm, after, PAGE, 10_000_000)
        events.update((event.seq, event) for event in page.events)
        for first, last in page.missing:
            lost.update(range(first, min(last, first + 100_000) + 1))
        if not page.more:
            return
        after = max([event.seq for event in page.events] + [last for _, last in page.missing])


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table as SQLite reads it, without any check."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        connection.text_factory = bytes
        tables = [
            name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
        return {
            table: _trusted(table, connection.execute(f"SELECT * FROM {table} NOT INDEXED"))  # noqa: S608 - from the file
            for table in tables
            if table not in _DERIVED
        }


def _trusted(table: str, cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    kept = [at for at, column in enumerate(cursor.description) if (table, column[0]) not in _UNTRUSTED]
    return [tuple(row[at] for at in kept) for row in cursor]


def _given_numbers(loaded: Loaded) -> list[int]:
    """Numbers that the version of a new recipe is above, of the one that has the highest."""
    return [int(loaded.meta.get(RECIPE_FLOOR, "0")), *(row.version for row in loaded.recipes)]


class Judge:
    """Compares what a flipped store gives with the truth."""

    def __init__(self, truth: Given) -> None:
        self._truth = truth
        self.wrong: list[str] = []

    def _expect(self, condition: object, text: str) -> None:
        if not condition:
            self.wrong.append(text)

    def judge(self, got: Given) -> list[str]:
        """What was given and is not true, or is missing without a word."""
        self.wrong = []
        true, loaded = self._truth.loaded, got.loaded
        held = {key.removeprefix(HELD) for key, value in loaded.meta.items() if key.startswith(HELD) and value}
        self._expect(loaded.epoch >= true.epoch, f"epoch {loaded.epoch} after {true.epoch}")
        for name in ("next_n", "next_handle"):
            self._expect(getattr(loaded, name) >= getattr(true, name), f"{name} goes back")
        self._rows("item", true.items, loaded.items, held)
        self._rows("first value", true.firsts, loaded.firsts, held)
        self._rows("ground", true.grounds, loaded.grounds, held)
        self._rows("override", true.overrides, loaded.overrides, held)
        self._rows("open change", true.open_changes, loaded.open_changes, held)
        self._arms(loaded, held)
        self._told_or_same("handle", true.handles, loaded.handles, got)
        self._told_or_same("recipe", true.recipes, loaded.recipes, got)
        self._told_or_same("open request", true.open_requests, loaded.open_requests, got)
        self._told_or_same("principal", list(true.principals.items()), list(loaded.principals.items()), got)
        self._expect(len(set(loaded.principals.values())) == len(loaded.principals), "two principals have one number")
        heads = {row.arm: json.loads(row.heads) for row in loaded.arms}
        for row in true.arms:
            self._expect(heads.get(row.arm) == json.loads(row.heads), f"heads {heads}")
        numbers = [max(_given_numbers(one)) for one in (loaded, true)]
        self._expect(numbers[0] >= numbers[1], f"the versions of recipes go back to {numbers[0]}")
        for key, value in loaded.meta.items():
            if not key.startswith(HELD) and key != RECIPE_FLOOR:
                self._expect(true.meta.get(key) == value, f"{key} is {value}")
        for key in true.meta.keys() - loaded.meta.keys():
            self._expect(got.told, f"{key} is lost without a word")
            if key.startswith(("authority/", "hold/")):
                self._expect(key.partition("/")[2] in held, f"{key} is lost and its arm is not held")
        self._pages(got)
        return self.wrong

    def _rows(self, what: str, true: list[Any], found: list[Any], held: set[str]) -> None:
        for row in found:
            self._expect(row in true, f"{what} of {row.arm} is untrue: {row}")
        for row in true:
            self._expect(row in found or row.arm in held, f"{what} of {row.arm} is lost and the arm is not held: {row}")

    def _arms(self, loaded: Loaded, held: set[str]) -> None:
        found = {row.arm: row for row in loaded.arms}
        for row in self._truth.loaded.arms:
            other = found.pop(row.arm, None)
            if other is None:
                self._expect(False, f"{row.arm} is lost")
                continue
            same = other == row or (other.published_seq < row.published_seq and _same_but_published(other, row))
            self._expect(same or row.arm in held, f"{row.arm} is untrue and not held: {other}")
            self._expect(other.seq >= row.seq, f"{row.arm} counts its events from {other.seq}")
            self._expect(other.rev >= row.rev, f"{row.arm} counts its revisions from {other.rev}")
        for arm in found:
            self._expect(arm in held, f"{arm} came out of nothing")

    def _told_or_same(self, what: str, true: list[Any], found: list[Any], got: Given) -> None:
        for row in found:
            made_up = isinstance(row, tuple) and str(row[0]).startswith("damaged:")
            self._expect(row in true or (made_up and got.told), f"{what} is untrue: {row}")
        if [row for row in true if row not in found]:
            self._expect(got.told, f"a {what} is lost without a word")

    def _pages(self, got: Given) -> None:
        for arm, history in self._truth.history.items():
            for at, entry in got.history[arm].items():
                self._expect(
                    history.get(at) == entry or entry.outcome == "damaged", f"{arm} rev {at[0]} is untrue: {entry}"
                )
            gone = {rev for rev, _ in history.keys() - got.history[arm].keys()} - got.lost_revs[arm]
            self._expect(not gone or got.told, f"{arm}: revisions {sorted(gone)[:5]} are lost without a word")
        for arm, events in self._truth.events.items():
            for seq, event in got.events[arm].items():
                self._expect(events.get(seq) == event, f"{arm} event {seq} is untrue: {event}")
            lost = events.keys() - got.events[arm].keys() - got.lost_seqs[arm]
            self._expect(not lost, f"{arm}: events {sorted(lost)[:5]} are lost without a word")
        for key, row in self._truth.requests.items():
            self._expect(got.requests[key] in (row, "damaged"), f"request {key} is {got.requests[key]}")


def _same_but_published(one: Any, other: Any) -> bool:
    names = [name for name in one.__struct_fields__ if name != "published_seq"]
    return all(getattr(one, name) == getattr(other, name) for name in names)


class Trials:
    """Flips in one store."""

    def __init__(self, directory: Path, seed: int, room: Path) -> None:
        self.dice = dice_of(seed)
        self._directory, self._room = directory, room
        with closing(sqlite3.connect(f"{(directory / FILE).as_uri()}?mode=ro", uri=True)) as connection:
            self._keys: list[Key] = [(one.user, one.conn, one.id) for one in requests(connection)]
            self._arms = [arm for (arm,) in connection.execute("SELECT arm FROM arm")]
            (self._size,) = connection.execute("PRAGMA page_size").fetchone()
            self._roots = [
                root for (root,) in connection.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")
            ]
        self.truth = given(self._copy(), self._keys, self._arms)
        self._dump = dump(directory / FILE)
        self._judge = Judge(self.truth)
        self.figures = Figures()

    def _copy(self) -> Path:
        shutil.rmtree(self._room, ignore_errors=True)
        shutil.copytree(self._directory, self._room, ignore=shutil.ignore_patterns("adapters", "*.v*"))
        return self._room

    def _place(self, file: Path) -> int:
        """The number of a bit: anywhere in the file, or as often in the first page of any table or index."""
        bits = file.stat().st_size * 8
        if file.name != FILE or self.dice.random() < 0.5:
            return int(self.dice.randrange(bits))
        root = self.dice.choice(self._roots)
        return int((root - 1) * self._size * 8 + self.dice.randrange(self._size * 8))

    def one(self) -> None:
        """One flip."""
        room = self._copy()
        files = sorted(path for path in room.iterdir() if path.stat().st_size and path.suffix != ".lock")
        file = room / FILE if self.dice.random() < 0.95 else self.dice.choice(files)
        bit = self._place(file)
        with file.open("r+b") as opened:
            opened.seek(bit // 8)
            (byte,) = opened.read(1)
            opened.seek(bit // 8)
            opened.write(bytes((byte ^ 1 << bit % 8,)))
        where = f"{file.name} bit {bit}"
        changed = file.name == FILE and self._changed(file)
        outcome, wrong = self._outcome(room)
        self.figures.trials += 1
        self.figures.count(outcome)
        if changed:
            self.figures.count("changed content")
            if outcome == "nothing told":
                wrong = [*wrong, "content differs and nothing was told"]
        self.figures.wrong += [f"{where}: {text}" for text in wrong]
        self.figures.count("used", bool(wrong))

    def _changed(self, file: Path) -> bool:
        try:
            return dump(file) != self._dump
        except (sqlite3.Error, UnicodeDecodeError):
            return True

    def _outcome(self, room: Path) -> tuple[str, list[str]]:
        log: list[Any] = []
        structlog.configure(processors=[_Log(log)])
        try:
            got = given(room, self._keys, self._arms)
        except StoreError:
            return "refused to start", []
        except Exception:  # noqa: BLE001 - whatever it is, it is wrong
            return "failed", [traceback.format_exc(limit=-4)]
        wrong = self._judge.judge(got)
        return ("told" if got.told else "mended" if log else "nothing told"), wrong


class _Log:
    """Keeps what is logged, and shows nothing."""

    def __init__(self, kept: list[Any]) -> None:
        self._kept = kept

    def __call__(self, _logger: Any, _name: str, event: Any) -> Any:
        """Keep one event."""
        self._kept.append(event)
        raise structlog.DropEvent


def main() -> None:
    """Run the trials of the command line."""
    directory, seed, trials = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    if defect := os.environ.get(VARIABLE, ""):
        DEFECTS[defect]()
    with tempfile.TemporaryDirectory(prefix="armbroker-flips-", dir="/dev/shm") as room:
        run = Trials(directory, seed, Path(room) / "store")
        for _ in range(trials):
            run.one()
    figures = run.figures
    sys.stdout.write(json.dumps({"trials": figures.trials, "wrong": figures.wrong, "numbers": figures.numbers}))


if __name__ == "__main__":
    main()
