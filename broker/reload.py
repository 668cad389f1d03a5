"""SIGHUP: the settings are read again, whole; what cannot be used changes nothing."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec
import structlog

from broker import logs
from broker.arms.fleet_check import CheckedFleet
from broker.settings import Settings, SettingsError
from broker.store.errors import RenameRefusedError
from broker.supervisor import Supervisor

log = structlog.get_logger()

Reread = Callable[[int], CheckedFleet]
"""Reads the settings and all that they name, at a service time in µs; raises SettingsError."""
AT_START = ("root", "instance", "mqtt", "store", "metrics")
"""Settings and tables that count from the next start on."""


class Reloadable(Protocol):
    """What follows new settings: the service."""

    async def follow_settings(self, checked: CheckedFleet) -> Settings:
        """Follow new settings; those that count now."""
        ...

    async def renames_due(self, settings: Settings) -> dict[str, str]:
        """The new and the old names of arms that only a new run can rename.

        Raises:
            RenameRefusedError: an arm cannot go on under another name.
        """
        ...


class Reload:
    """Holds the settings that count; `reread` is None where no file was named. `ask` may be called any time.

    `serving`: whether the present run came as far as taking requests.
    """

    def __init__(self, settings: Settings, reread: Reread | None, supervisor: Supervisor) -> None:
        self.settings = settings
        self._supervisor = supervisor
        self.serving = False
        self._reread = reread
        self._asked = asyncio.Event()
        self.anew = asyncio.Event()
        """Set when the settings that were read ask for a run of their own."""

    def ask(self) -> None:
        """Let the settings be read again."""
        self._asked.set()

    async def serve(self, service: Reloadable, now_us: Callable[[], int]) -> None:
        """Reload when asked, for ever; requests go on meanwhile."""
        self.serving = True
        while True:
            await self._asked.wait()
            self._asked.clear()
            if self._reread is None:
                log.warning("reload_ignored", why="there is no settings file: the quick form was used")
                continue
            self._supervisor.reloads()
            try:
                await self._reload(service, self._reread, now_us())
            except (SettingsError, RenameRefusedError) as error:
                log.warning("reload_refused", faults=str(error).splitlines())
                self._supervisor.reloaded(f"settings of before, for the new ones cannot be used: {error}")
            else:
                if not self.anew.is_set():
                    self._supervisor.reloaded("the settings were read again")

    async def _reload(self, service: Reloadable, reread: Reread, now_us: int) -> None:
        checked = await asyncio.to_thread(reread, now_us)
        settings, waiting = kept(self.settings, checked.settings)
        renames = await service.renames_due(settings)
        if waiting:
            log.warning("restart_needed", settings=waiting)
        logs.set_level(settings.log_level)
        tell_doubts(checked.doubts)
        if renames:
            self.settings = settings
            log.warning("run_begins_anew", why="arms go on under other names", renamed=renames)
            self.anew.set()
            return
        self.settings = await service.follow_settings(checked._replace(settings=settings))
        log.info("reloaded", arms=len(self.settings.arm))


def tell_doubts(doubts: Iterable[str]) -> None:
    """Log what settings say that can be, but is hardly meant."""
    for what in doubts:
        log.warning("settings_doubtful", what=what)


def kept(old: Settings, new: Settings) -> tuple[Settings, list[str]]:
    """New settings with the old values of what counts from the next start on, and the names of those that differ."""
    names = []
    for name in AT_START:
        before, after = getattr(old, name), getattr(new, name)
        if isinstance(before, msgspec.Struct):
            fields = before.__struct_fields__
            names += [f"{name}.{field}" for field in fields if getattr(before, field) != getattr(after, field)]
        elif before != after:
            names.append(name)
    return msgspec.structs.replace(new, **{name: getattr(old, name) for name in AT_START}), names
