"""Settings that are read again: what counts at once, what from the next start on, and what cannot be used."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
import structlog

from broker.arms.fleet_check import CheckedFleet, read_fleet
from broker.arms.limit_files import LimitFiles
from broker.reload import Reload, kept
from broker.settings import Settings, from_document
from broker.store.errors import RenameRefusedError
from broker.supervisor import Supervisor


class Followed:
    """What follows settings in place of a service."""

    def __init__(self) -> None:
        self.followed: list[Settings] = []
        self.news = asyncio.Event()
        self.known: set[str] = set()
        """The arms of the store."""

    async def follow_settings(self, checked: CheckedFleet) -> Settings:
        """See `Reloadable`."""
        self.followed.append(checked.settings)
        self.news.set()
        return checked.settings

    async def renames_due(self, settings: Settings) -> dict[str, str]:
        """See `Reloadable`."""
        found = {new: old for new, old in settings.renames.items() if old in self.known}
        if both := found.keys() & self.known:
            raise RenameRefusedError(f"both are known: {', '.join(sorted(both))}")
        return found


async def logged(entries: Sequence[object]) -> None:
    """Wait until something is logged."""
    while not entries:  # noqa: ASYNC110 - the log announces nothing
        await asyncio.sleep(0.01)


def test_what_counts_from_the_next_start_on_keeps_its_value_and_is_named() -> None:
    old = from_document({"root": "a", "mqtt": {"user": "x"}, "log_level": "info"})
    new = from_document({"root": "b", "instance": "two", "mqtt": {"user": "y", "client_id": "z"}, "log_level": "debug"})
    settings, names = kept(old, new)
    assert names == ["root", "instance", "mqtt.user", "mqtt.client_id"]
    assert (settings.root, settings.instance, settings.mqtt) == ("a", "main", old.mqtt)
    assert settings.log_level == "debug"
    assert kept(old, old) == (old, [])


async def test_what_cannot_be_used_changes_nothing_and_is_told_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text('[[arm]]\nid = "r1"\nmodel = "gen3_7dof"\n')
    old = read_fleet(path, 0, {}).settings
    reload, service = Reload(old, lambda now_us: read_fleet(path, now_us, {}), Supervisor()), Followed()
    with structlog.testing.capture_logs() as logs:
        serving = asyncio.create_task(reload.serve(service, lambda: 7))
        path.write_text('instance = "two"\n[[arm]]\nid = "r1"\nmodel = "gen4"\n[[arm]]\nid = "R1"\n')
        reload.ask()
        await logged(logs)
        path.write_text('instance = "two"\n[[arm]]\nid = "r2"\nmodel = "gen3_7dof"\n')
        reload.ask()
        await service.news.wait()
        serving.cancel()
    first, second, *_ = logs
    assert (first["event"], second["event"]) == ("reload_refused", "restart_needed")
    assert [fault.split(": ")[0] for fault in first["faults"]] == [f"{path}:4", f"{path}:5", f"{path}:6"]
    assert second["settings"] == ["instance"]
    assert [arm.id for settings in service.followed for arm in settings.arm] == ["r2"]
    assert reload.settings.instance == "main"


async def test_without_a_file_it_is_ignored() -> None:
    reload, service = Reload(Settings(), None, Supervisor()), Followed()
    with structlog.testing.capture_logs() as logs:
        serving = asyncio.create_task(reload.serve(service, lambda: 7))
        reload.ask()
        await logged(logs)
        serving.cancel()
    assert [entry["event"] for entry in logs] == ["reload_ignored"]
    assert service.followed == []


@pytest.mark.parametrize("level", ["debug", "error"])
async def test_the_level_of_the_log_counts_at_once(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    from broker import logs  # noqa: PLC0415 - its state is restored below

    before = logs.level()
    settings = from_document({"log_level": level})
    reload, service = (
        Reload(Settings(), lambda now_us: CheckedFleet(settings, LimitFiles(now_us)), Supervisor()),
        Followed(),
    )
    serving = asyncio.create_task(reload.serve(service, lambda: 7))
    reload.ask()
    await service.news.wait()
    serving.cancel()
    assert logs.level() == level
    logs.set_level(before)
    capsys.readouterr()


def checked_fleet(*arms: dict[str, str]) -> CheckedFleet:
    settings = from_document({"arm": [{"model": "gen3_7dof", **arm} for arm in arms]})
    return CheckedFleet(settings, LimitFiles(0))


async def test_a_rename_that_is_due_asks_for_a_run_of_its_own() -> None:
    reload, service = Reload(Settings(), lambda _: checked_fleet({"id": "r2", "was": "r1"}), Supervisor()), Followed()
    service.known = {"r1"}
    with structlog.testing.capture_logs() as logs:
        serving = asyncio.create_task(reload.serve(service, lambda: 7))
        reload.ask()
        await reload.anew.wait()
        serving.cancel()
    assert [(entry["event"], entry["renamed"]) for entry in logs] == [("run_begins_anew", {"r2": "r1"})]
    assert [arm.id for arm in reload.settings.arm] == ["r2"]
    assert service.followed == []


async def test_a_rename_that_was_done_already_asks_for_nothing() -> None:
    reload, service = Reload(Settings(), lambda _: checked_fleet({"id": "r2", "was": "r1"}), Supervisor()), Followed()
    service.known = {"r2"}
    serving = asyncio.create_task(reload.serve(service, lambda: 7))
    reload.ask()
    await service.news.wait()
    serving.cancel()
    assert not reload.anew.is_set()


async def test_a_rename_to_a_name_that_another_arm_had_is_refused() -> None:
    reload, service = Reload(Settings(), lambda _: checked_fleet({"id": "r2", "was": "r1"}), Supervisor()), Followed()
    service.known = {"r1", "r2"}
    with structlog.testing.capture_logs() as logs:
        serving = asyncio.create_task(reload.serve(service, lambda: 7))
        reload.ask()
        await logged(logs)
        serving.cancel()
    assert [(entry["event"], entry["faults"]) for entry in logs] == [("reload_refused", ["both are known: r2"])]
    assert not reload.anew.is_set()
    assert (reload.settings, service.followed) == (Settings(), [])
