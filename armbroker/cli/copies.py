"""`armbroker backup`, `armbroker restore`: copies of a store."""

from pathlib import Path
from typing import Annotated

import typer

from armbroker.cli.options import end

Config = Annotated[Path | None, typer.Option(metavar="FILE", help="Settings that name the store's directory.")]
Data = Annotated[Path, typer.Option(metavar="DIR", help="The store's directory, without settings.")]


BACKUP_HELP = """Copy the store into DIR, which is made or empty: as it is at one moment, whether a service runs on
it or not. Every page, row and audit entry of the copy is checked.

\b
examples:
  armbroker backup /backup/armbroker-monday --config /etc/armbroker/fleet.toml
  armbroker backup ./copy --data ./data
"""


def backup(
    target: Annotated[Path, typer.Argument(metavar="DIR", help="Where the backup goes.")],
    config: Config = None,
    data: Data = Path("data"),
) -> None:
    """Back up."""
    from armbroker.cli.store_work import run_backup  # noqa: PLC0415 - only this command needs it

    end(run_backup(target, config, data))


RESTORE_HELP = """Put the backup in DIR in the place of the store, while no service runs on it. What was there is kept
beside it. The next start is in an epoch above all that was told; what waited when the backup was made is held; what the
arms have meanwhile is told as differences, and nothing is sent to them before somebody asks for it.

\b
examples:
  armbroker restore /backup/armbroker-monday --config /etc/armbroker/fleet.toml
  armbroker restore ./copy --data ./data
"""


def restore(
    target: Annotated[Path, typer.Argument(metavar="DIR", help="The backup.")],
    config: Config = None,
    data: Data = Path("data"),
) -> None:
    """Restore."""
    from armbroker.cli.store_work import run_restore  # noqa: PLC0415 - only this command needs it

    end(run_restore(target, config, data))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(short_help="Copy the store while it is served: armbroker backup DIR", help=BACKUP_HELP)(backup)
    app.command(short_help="Put a backup in the place of the store: armbroker restore DIR", help=RESTORE_HELP)(restore)
