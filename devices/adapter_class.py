"""What the service asks of an adapter as a whole, before any arm of it is opened."""

from typing import Protocol

import msgspec

from devices.adapter import ArmFleet, Deadlines, FleetContext
from schema.arms import Activity


class AdapterOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Root of the options of one adapter's arms: a field each, with its type, default, bounds and description.

    Types are those of `Setting`, a `Literal` of texts too; bounds and description stand in a `msgspec.Meta`.
    `devices.options` reads and shows them.
    """


class AdapterAbout(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter says of its arms before any of them is opened; what differs between arms as it is at most."""

    purpose: str
    """One line: for what arms it is."""
    options: type[AdapterOptions] = AdapterOptions
    models: tuple[str, ...] = ()
    """The models that it knows; empty: the arm itself or its files say what it is."""
    methods: frozenset[str]
    items: frozenset[str]
    deadlines: Deadlines = Deadlines()
    resolution_rad: float = 0.0
    activities: frozenset[Activity] = frozenset()
    """What it can tell of what an arm does; empty: its activity is always UNKNOWN."""
    authority: str = "observe"
    """How far the service may go with an arm whose settings do not say: observe, advise or control."""
    rig: str = ""
    """`module:function` that makes a test bench, a `devices.conformance.benches.RigMaker`; empty: there is none."""


class AdapterClass(Protocol):
    """What `devices.registry` finds by name."""

    about: AdapterAbout

    def open_fleet(self, context: FleetContext) -> ArmFleet:
        """Open what the arms of this adapter share; files only below the directory of `context`.

        Raises:
            ArmError: it cannot be used.
        """
        ...
