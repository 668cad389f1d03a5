"""`armbroker store`: work on a store while no service runs on it."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Work on a store while no service runs on it.

    \b
    examples:
      armbroker store vacuum /var/lib/armbroker
    """,
)


@app.callback()
def _main() -> None:
    """Keep the name of a single command."""


@app.command(short_help="Write the file anew, as small as it can be: armbroker store vacuum DIR")
def vacuum(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The store's directory: [store] dir of the settings.")
    ],
) -> None:
    """Needs as much room on the disk again meanwhile. New files shrink by themselves after each purge."""
    from broker.cli.audit_work import vacuumed  # noqa: PLC0415 - only this command needs it

    raise typer.Exit(vacuumed(directory))
