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
      armbroker store set-time /var/lib/armbroker
    """,
)

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The store's directory: [store] dir of the settings.")]


@app.command(
    "set-time",
    short_help="Take back a time that a wrong clock wrote: armbroker store set-time DIR [TIME]",
    help="""Let the store have reached TIME and no later one, after a clock that was ahead wrote into it. Rows keep
    their times; ages from before TIME are unknown from then on, so that nothing young is deleted; the audit keeps who
    did it.

    \b
    examples:
      armbroker store set-time /var/lib/armbroker
      armbroker store set-time /var/lib/armbroker 2026-12-01T08:00:00Z
    """,
)
def set_time(
    directory: Directory,
    to: Annotated[str, typer.Argument(metavar="TIME", help="RFC 3339, or `now`: the clock of this machine.")] = "now",
) -> None:
    """Set it."""
    from armbroker.cli.store_work import run_set_time  # noqa: PLC0415 - only this command needs it

    raise typer.Exit(run_set_time(directory, to))


@app.command(short_help="Write the file anew, as small as it can be: armbroker store vacuum DIR")
def vacuum(
    directory: Directory,
) -> None:
    """Needs as much room on the disk again meanwhile. New files shrink by themselves after each purge."""
    from armbroker.cli.audit_work import vacuumed  # noqa: PLC0415 - only this command needs it

    raise typer.Exit(vacuumed(directory))
