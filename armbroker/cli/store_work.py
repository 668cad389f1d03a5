"""What `armbroker backup`, `restore` and `store ...` do."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from armbroker.cli.exits import Exit
from broker.settings import SettingsError, load
from broker.store.backup import back_up, restore
from broker.store.errors import StoreError, StoreLockedError
from broker.store.set_time import set_time
from schema.codecs.times import format_time, parse_time

NOW = "now"


def directory_of(config: Path | None, data: Path) -> Path:
    """The directory of the store: that of the settings if they are named.

    Raises:
        SettingsError: they cannot be used.
    """
    return data if config is None else load(config).data_dir


def run_backup(target: Path, config: Path | None, data: Path) -> Exit:
    """Back a store up, and say what the backup holds."""

    def work() -> list[str]:
        backup = back_up(directory_of(config, data), target, _now_us())
        return [
            (
                f"{target}: store {backup.store[:8]} up to commit {backup.commits} in epoch {backup.epoch}, "
                f"{backup.bytes} bytes, checked"
            )
        ]

    return _told("backup", work)


def run_restore(target: Path, config: Path | None, data: Path) -> Exit:
    """Restore a store, and say what that means."""

    def work() -> list[str]:
        directory = directory_of(config, data)
        restored = restore(target, directory, _now_us())
        lines = [
            (
                f"{directory}: restored as of {restored.backup.made_at}, commit {restored.backup.commits}; "
                f"the next start is in an epoch above {restored.epoch}"
            ),
            (
                "What waited then is held for ConfirmPending or DiscardPending; what the arms have meanwhile is told "
                "as differences; nothing is sent to an arm before somebody asks for it."
            ),
        ]
        return [*lines, f"What was there is kept in {restored.kept}"] if restored.kept else lines

    return _told("restore", work)


def run_set_time(directory: Path, text: str) -> Exit:
    """Set the time of a store at rest."""
    try:
        time_us = _now_us() if text == NOW else parse_time(text)
    except ValueError as error:
        sys.stderr.write(f"armbroker store set-time: {text!r}: {error}\n")
        return Exit.USAGE

    def work() -> list[str]:
        before_us = set_time(directory, time_us)
        return [f"{directory}: the time was {format_time(before_us)}, and is {format_time(time_us)} now"]

    return _told("store set-time", work)


def _told(command: str, work: Callable[[], list[str]]) -> Exit:
    """Do some work, and show its lines or why it was not done."""
    try:
        lines = work()
    except SettingsError as error:
        sys.stderr.write(f"armbroker {command}: {error}\n")
        return Exit.USAGE
    except StoreLockedError as error:
        sys.stderr.write(f"armbroker {command}: {error}: end the service first\n")
        return Exit.NO_SERVER
    except StoreError as error:
        sys.stderr.write(f"armbroker {command}: {error}\n")
        return Exit.REFUSED
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return Exit.OK


def _now_us() -> int:
    return time.time_ns() // 1000
