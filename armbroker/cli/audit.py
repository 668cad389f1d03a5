"""`armbroker audit`: the chain of the audit, over its archives and the store."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""The audit: every change, refused change and administrative act, in a chain of hashes.

    Months that are over lie in DIR/audit, one file each; the rest in the store. The commands read both, also while the
    service runs.

    \b
    examples:
      armbroker audit verify /var/lib/armbroker
      armbroker audit export /var/lib/armbroker --from 2026-11-01 | jq 'select(.arm == "r12")'
      armbroker audit head /var/lib/armbroker        # keep it elsewhere, then:
      armbroker audit verify /var/lib/armbroker --head 1234:9f86d081...
    """,
)

Store = Annotated[Path, typer.Argument(metavar="DIR", help="The store's directory: [store] dir of the settings.")]
_DAY = "%Y-%m-%d"


@app.command(short_help="Check every entry: armbroker audit verify DIR")
def verify(
    directory: Store,
    head: Annotated[
        str, typer.Option(metavar="N:HASH", help="An end of the chain that was kept elsewhere, as `head` shows it.")
    ] = "",
) -> None:
    """Find every change, deletion, reordering and cut of the chain; exit code 1 if there is one."""
    from armbroker.cli.audit_work import verified  # noqa: PLC0415 - only this command needs it

    raise typer.Exit(verified(directory, head))


@app.command(short_help="Show entries as JSON lines: armbroker audit export DIR")
def export(
    directory: Store,
    begin: Annotated[datetime | None, typer.Option("--from", formats=[_DAY], help="First day, UTC.")] = None,
    end: Annotated[datetime | None, typer.Option("--to", formats=[_DAY], help="Last day, UTC.")] = None,
) -> None:
    """Show all entries, oldest first, each with its number `n` and its `hash`."""
    from armbroker.cli.audit_work import exported  # noqa: PLC0415 - only this command needs it

    begin_us = int(begin.replace(tzinfo=UTC).timestamp() * 1e6) if begin is not None else 0
    end_us = int((end.replace(tzinfo=UTC).timestamp() + 86_400) * 1e6) if end is not None else 0
    raise typer.Exit(exported(directory, begin_us, end_us))


@app.command(short_help="Show the end of the chain: armbroker audit head DIR")
def head(directory: Store) -> None:
    """Show number and hash of the last entry, to be kept where nobody who can write the store can write."""
    from armbroker.cli.audit_work import shown_head  # noqa: PLC0415 - only this command needs it

    raise typer.Exit(shown_head(directory))


@app.command(short_help="Put months that are over into files: armbroker audit archive DIR")
def archive(directory: Store) -> None:
    """Do by hand what a running service does every hour; only while no service runs on the store."""
    from armbroker.cli.audit_work import archived_by_hand  # noqa: PLC0415 - only this command needs it

    raise typer.Exit(archived_by_hand(directory))
