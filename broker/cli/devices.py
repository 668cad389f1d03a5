"""The commands `armbroker devices list|show|verify`, and their help."""

from collections.abc import Callable
from types import ModuleType
from typing import Annotated

import typer

from broker.cli.exits import Exit
from devices.adapter import ArmError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Adapters: the code that speaks to one kind of arm each.

    \b
    examples:
      armbroker devices list
      armbroker devices show simulated
      armbroker devices verify simulated --option latency_ms=1

    Exit codes: 0 ok, 1 refused or a behaviour failed, 2 usage.
    """,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the adapter, as `devices list` shows it.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command(
    "list",
    short_help="Show all adapters: armbroker devices list",
    help="""Show all adapters: built in, or from which distribution, and whether they can be used here.

    \b
    examples:
      armbroker devices list
      armbroker devices list --json | jq -r '.[] | select(.usable).name'
    """,
)
def list_adapters(as_json: AsJson = False) -> None:
    """List."""
    _end(lambda work: work.list_adapters(as_json=as_json))


@app.command(
    short_help="Show what an adapter is and takes: armbroker devices show simulated",
    help="""Show an adapter: the options of its arms, their config items and methods, deadlines, and how far the service
    goes with them unless the settings say.

    \b
    examples:
      armbroker devices show simulated
      armbroker devices show simulated --json | jq .options
    """,
)
def show(name: Name, as_json: AsJson = False) -> None:
    """Show."""
    _end(lambda work: work.show(name, as_json=as_json))


@app.command(
    short_help="Try an adapter on its test bench: armbroker devices verify simulated",
    help="""Run the conformance suite on an adapter, on the test bench that it brings, and show each behaviour.

    The suite writes, resets and disturbs: MODEL and options must not lead to an arm that anybody needs.

    \b
    examples:
      armbroker devices verify simulated
      armbroker devices verify acme --model acme_6 --option port=4001
    """,
)
def verify(
    name: Name,
    model: Annotated[str, typer.Option(help="Model of the arm.")] = "",
    option: Annotated[list[str] | None, typer.Option(metavar="K=V", help="Option of the arm; may be repeated.")] = None,
    behaviour: Annotated[list[str] | None, typer.Option(help="Only this behaviour; may be repeated.")] = None,
) -> None:
    """Verify."""
    _end(lambda work: work.verify(name, model, option or [], behaviour or []))


def _end(run: Callable[[ModuleType], int]) -> None:
    """Carry out a command, say what cannot be done, and end with its exit code."""
    from broker.cli import devices_work  # noqa: PLC0415 - help and other commands need no adapters

    try:
        code = run(devices_work)
    except ArmError as error:
        typer.echo(str(error), err=True)
        code = Exit.REFUSED
    raise typer.Exit(code)
