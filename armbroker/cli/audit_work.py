"""What `armbroker audit` and `armbroker store` do."""

import asyncio
import sys
from pathlib import Path

import msgspec

from armbroker.cli.exits import Exit
from broker.clock import Clock
from broker.store.audit_check import Report, entries, verify
from broker.store.digest import AUDIT_START
from broker.store.errors import StoreError, StoreLockedError
from broker.store.store import FILE, UNREADABLE, Store, vacuum
from broker.store.tables import AuditHead


def verified(directory: Path, head: str) -> Exit:
    """Check the chain, and say what is wrong."""
    kept: AuditHead | None = None
    if head:
        number, _, said = head.partition(":")
        try:
            kept = AuditHead(int(number), bytes.fromhex(said))
        except ValueError:
            kept = None
        if kept is None or len(kept.hash) != len(AUDIT_START):
            return _usage(f"--head {head[:80]!r}: a number, a colon and 64 hex digits are needed")
    try:
        report = verify(directory / FILE, kept)
    except UNREADABLE as error:
        return _unreadable(directory, error)
    for fault in report.faults:
        sys.stdout.write(f"{fault}\n")
    sys.stdout.write(f"{_summary(report)}\n")
    return Exit.REFUSED if report.faults else Exit.OK


def _summary(report: Report) -> str:
    end = f"entry {report.head.n} {report.head.hash.hex()}"
    word = f"{len(report.faults)} faults" if report.faults else "ok"
    return f"{word}: {report.entries} entries, {report.archives} archives, the chain ends with {end}"


def exported(directory: Path, begin_us: int, end_us: int) -> Exit:
    """Show entries as JSON lines; what is no JSON object is shown as `entry`."""
    try:
        for n, entry, said, place in entries(directory / FILE):
            try:
                document = msgspec.json.decode(entry, type=dict[str, object])
            except msgspec.MsgspecError:
                document = {"entry": entry.decode("utf-8", "backslashreplace")}
            at_us = document.get("at")
            if isinstance(at_us, int) and (at_us < begin_us or (end_us and at_us >= end_us)):
                continue
            line = {"n": n, **document, "hash": said.hex(), "in": place}
            sys.stdout.write(f"{msgspec.json.encode(line).decode()}\n")
    except UNREADABLE as error:
        return _unreadable(directory, error)
    return Exit.OK


def shown_head(directory: Path) -> Exit:
    """Show the end of the chain."""
    try:
        head = verify(directory / FILE).head
    except UNREADABLE as error:
        return _unreadable(directory, error)
    sys.stdout.write(f"{head.n}:{head.hash.hex()}\n")
    return Exit.OK


def archived_by_hand(directory: Path) -> Exit:
    """Archive what is over, with the other work of an hour."""
    if not (directory / FILE).exists():
        return _usage(f"{directory / FILE}: there is no store")
    try:
        store = Store.open(directory, Clock().now_us)
        try:
            asyncio.run(store.archive(Clock().now_us()))
        finally:
            store.close()
    except StoreLockedError as error:
        return _locked(error)
    except StoreError as error:
        return _unreadable(directory, error)
    return Exit.OK


def vacuumed(directory: Path) -> Exit:
    """Write the whole file anew, so that it is as small as it can be and shrinks by itself from then on."""
    path = directory / FILE
    if not path.exists():
        return _usage(f"{path}: there is no store")
    before = path.stat().st_size
    try:
        vacuum(directory)
    except StoreLockedError as error:
        return _locked(error)
    except StoreError as error:
        return _unreadable(directory, error)
    sys.stdout.write(f"{path}: {before} bytes before, {path.stat().st_size} now\n")
    return Exit.OK


def _locked(error: StoreLockedError) -> Exit:
    sys.stderr.write(f"{error}: a running service does it by itself; end it to do it by hand\n")
    return Exit.NO_SERVER


def _usage(text: str) -> Exit:
    sys.stderr.write(f"{text}\n")
    return Exit.USAGE


def _unreadable(directory: Path, error: Exception) -> Exit:
    sys.stderr.write(f"{directory}: {error}\n")
    return Exit.REFUSED
