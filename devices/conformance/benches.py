"""The test benches that adapters bring."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from devices.adapter import Setting
from devices.conformance.rig import Rig
from devices.registry import AdapterImportError, adapter_class, imported

RigMaker = Callable[[Path, str, Mapping[str, Setting]], Awaitable[Rig]]
"""Makes the test bench of one arm: its directory, empty at first, its model and its options."""


def rig_maker(name: str) -> RigMaker:
    """What makes the test bench of an adapter.

    Raises:
        UnknownAdapterError: no such name.
        AdapterImportError: it brings none, or cannot be imported.
    """
    place = adapter_class(name).about.rig
    if not place:
        raise AdapterImportError(f"adapter {name} brings no test bench")
    maker: RigMaker = imported(name, place)
    return maker
