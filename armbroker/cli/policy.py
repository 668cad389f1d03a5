"""`armbroker policy`: a file of rules, looked at and tried on what was."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""The rules that writes need, [policy] file of the settings: docs/fleet.md tells how they are written.

    \b
    examples:
      armbroker policy check policy.toml
      armbroker policy check policy.toml --config /etc/armbroker/fleet.toml
      armbroker policy replay new.toml --config /etc/armbroker/fleet.toml --days 30
    """,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The rules, a policy.toml.")]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FLEET", help="The settings, a fleet.toml: which arms and groups there are."),
]


@app.command(short_help="Say everything that is wrong with a file: armbroker policy check FILE")
def check(file: File, config: Config = None) -> None:
    """Say everything that is wrong with FILE, with line, rule and key; exit code 2 then.

    With --config it is also compared with arms and groups. Nothing is reached.
    """
    from armbroker.cli.policy_work import checked  # noqa: PLC0415 - only this command needs it

    raise typer.Exit(checked(file, config))


@app.command(
    short_help="Try a file on past changes: armbroker policy replay FILE --store DIR",
    help="""Say which of the changes that were accepted FILE would have refused, or made proposals: a line each, newest
    first, with the rule, then the counts. Reads the store beside the running service. Arms and groups are those of
    --config, roles those of FILE; rates are left out. Exit code 1 if there is such a change.

    \b
    examples:
      armbroker policy replay new.toml --store /var/lib/armbroker
      armbroker policy replay new.toml --config /etc/armbroker/fleet.toml --days 7
    """,
)
def replay(
    file: File,
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The store's directory; [store] dir of --config unless told.")
    ] = None,
    config: Config = None,
    days: Annotated[int, typer.Option(min=1, max=400, help="How far back.")] = 30,
) -> None:
    """Try it."""
    from armbroker.cli.policy_work import replayed  # noqa: PLC0415 - only this command needs it

    raise typer.Exit(replayed(file, store, config, days))
