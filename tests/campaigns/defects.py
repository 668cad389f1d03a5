"""Defects for positive controls: the service with one of its rules broken from outside, which a campaign must catch.

`python -m tests.campaigns.defects run ...` is `armbroker run ...` with the defect that `ARMBROKER_TEST_DEFECT` names.
"""

import asyncio
import os
from collections.abc import Callable

from broker.__main__ import main
from broker.link.mqtt5_connection import Connection
from broker.store import audit, repair, scrub, seals, service_row
from broker.store.batch import Batch
from broker.store.group_commit import GroupCommit

VARIABLE = "ARMBROKER_TEST_DEFECT"
_LATE_S = 0.4


def _commit_late() -> None:
    """What is told is committed only after a while."""
    honest = GroupCommit.flush_soon

    def flush(store: GroupCommit) -> None:
        asyncio.get_running_loop().call_later(_LATE_S, honest, store)

    def at_once(_: Batch, callback: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(callback)

    setattr(GroupCommit, "flush_soon", flush)  # noqa: B010 - a defect that is put in from outside
    setattr(Batch, "on_commit", at_once)  # noqa: B010 - likewise


def _strict_reader() -> None:
    """A message that cannot be read ends the connection, as it does with a client that is only right."""

    def give_up(connection: Connection, body: bytes, head: int, error: Exception) -> None:
        connection.abort(f"malformed packet 0x{head:02x} of {len(body)} bytes: {error}")

    setattr(Connection, "_pass_over", give_up)  # noqa: B010 - a defect that is put in from outside


def _believe_rows() -> None:
    """No row is compared with its hash."""
    setattr(seals.Sealed, "agrees", lambda *_: True)  # noqa: B010 - a defect that is put in from outside
    for module in (audit, repair, scrub, service_row):
        setattr(module, "agrees", lambda *_: True)  # noqa: B010 - likewise


DEFECTS: dict[str, Callable[[], None]] = {
    "commit_late": _commit_late,
    "strict_reader": _strict_reader,
    "believe_rows": _believe_rows,
}
"""Each breaks one rule, by name."""


if __name__ == "__main__":
    DEFECTS[os.environ[VARIABLE]]()
    main()
