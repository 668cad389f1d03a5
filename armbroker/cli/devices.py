"""The commands `armbroker devices list|show|verify|install-kortex`, and their help."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from armbroker.cli.exits import Exit
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
      armbroker devices install-kortex kortex_api-2.6.0.post3-py3-none-any.whl --data ./data

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


@app.command(
    "install-kortex",
    short_help="Prepare for Kinova arms: armbroker devices install-kortex WHEEL",
    help="""Build the environment in which the workers of Kinova arms run, from WHEEL: the maker's client for Python,
    kortex_api. It is kept apart from everything else, since it needs an old protobuf. An environment that is there is
    replaced once the new one has loaded the client.

    \b
    examples:
      armbroker devices install-kortex kortex_api-2.6.0.post3-py3-none-any.whl --data ./data
      armbroker devices install-kortex kortex_api-2.6.0.post3-py3-none-any.whl --python python3.11
    """,
)
def install_kortex(
    wheel: Annotated[Path, typer.Argument(metavar="WHEEL", help="File kortex_api-VERSION-py3-none-any.whl.")],
    data: Annotated[Path, typer.Option(metavar="DIR", help="Where the store of the service lies.")] = Path("data"),
    python: Annotated[str, typer.Option(help="Python of the environment, 3.8 to 3.11.")] = sys.executable,
    pip_option: Annotated[list[str] | None, typer.Option(help="Option for pip; may be repeated.")] = None,
) -> None:
    """Install."""
    _end(lambda work: work.install_kortex(wheel, data, python, pip_option or []))


def _end(run: Callable[[ModuleType], int]) -> None:
    """Carry out a command, say what cannot be done, and end with its exit code."""
    from armbroker.cli import devices_work  # noqa: PLC0415 - help and other commands need no adapters

    try:
        code = run(devices_work)
    except ArmError as error:
        typer.echo(str(error), err=True)
        code = Exit.REFUSED
    raise typer.Exit(code)
