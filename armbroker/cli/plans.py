"""`armbroker plan`: changes of groups and rollouts, looked at and steered."""

from typing import TYPE_CHECKING, Annotated

import typer

from armbroker.cli.options import (
    AsJson,
    CaFile,
    Cert,
    Conn,
    Key,
    Mqtt,
    PasswordFile,
    ProfileName,
    Root,
    User,
    account,
    end,
)

if TYPE_CHECKING:
    from armbroker.cli.exits import Exit

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Changes of groups, rollouts and proposals: docs/fleet.md walks through one.

    \b
    examples:
      armbroker plan list --state running
      armbroker plan show 17 --follow
      armbroker plan pause 17 --reason "arms of wave 1 vibrate"
      armbroker plan reverse 17
    """,
)

Number = Annotated[int, typer.Argument(metavar="PLAN", min=1, help="The number of the plan.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds to wait for each reply.")]
Reason = Annotated[str | None, typer.Option(help="For the history; at most 200 characters.")]
Digest = Annotated[str | None, typer.Option(help="Only if the plan is still this one.")]


@app.command("list", short_help="List plans, newest first: armbroker plan list --state running")
def list_(
    mqtt: Mqtt = None, user: User = None, password_file: PasswordFile = None, ca_file: CaFile = None,
    cert: Cert = None, key: Key = None, conn: Conn = None, root: Root = None, profile: ProfileName = None,
    state: Annotated[str | None, typer.Option(help="proposed, checking, running, paused, ended, ...")] = None,
    kind: Annotated[str | None, typer.Option(help="group, rollout or single.")] = None,
    by: Annotated[str | None, typer.Option(help="Of this user.")] = None,
    before: Annotated[int | None, typer.Option(min=1, help="Numbers below this.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 50,
    timeout: Timeout = 15.0, as_json: AsJson = False,
) -> None:  # fmt: skip
    """List plans, newest first."""
    from armbroker.cli import plans_work as work  # noqa: PLC0415 - the MQTT client, only for what speaks to a server

    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    given = {"state": state, "kind": kind, "user": by, "before": before, "limit": limit}
    params = {name: value for name, value in given.items() if value is not None}
    end(work.listed(work.Asked(who, timeout, as_json), params))


@app.command(short_help="Show a plan with its rows: armbroker plan show 17")
def show(
    plan: Number,
    mqtt: Mqtt = None, user: User = None, password_file: PasswordFile = None, ca_file: CaFile = None,
    cert: Cert = None, key: Key = None, conn: Conn = None, root: Root = None, profile: ProfileName = None,
    state: Annotated[str | None, typer.Option(help="Only rows in this state.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for its end first, with a bar.")] = False,
    timeout: Timeout = 15.0, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show a plan with its rows; exit code 1 if it did not come to what was asked."""
    from armbroker.cli import plans_work as work  # noqa: PLC0415 - the MQTT client, only for what speaks to a server

    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    end(work.shown(work.Asked(who, timeout, as_json), plan, state, follow=follow))


def _steering(action: str, text: str) -> None:
    """A command that does something with a plan."""

    def steer(
        plan: Number,
        mqtt: Mqtt = None, user: User = None, password_file: PasswordFile = None, ca_file: CaFile = None,
        cert: Cert = None, key: Key = None, conn: Conn = None, root: Root = None, profile: ProfileName = None,
        reason: Reason = None, digest: Digest = None, timeout: Timeout = 15.0, as_json: AsJson = False,
    ) -> None:  # fmt: skip
        from armbroker.cli import plans_work as work  # noqa: PLC0415 - the MQTT client, only for what speaks to a server

        who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
        code: Exit = work.steered(work.Asked(who, timeout, as_json), plan, action, reason, digest)
        end(code)

    app.command(action, help=text, short_help=f"{text} armbroker plan {action} 17")(steer)


for _action, _text in (
    ("pause", "Let no new row begin:"),
    ("resume", "Let a paused plan go on, or confirm one:"),
    ("abort", "End a plan, what was done stays:"),
    ("reverse", "Take back what is as the plan left it:"),
    ("approve", "Approve a proposal of somebody else:"),
    ("reject", "Reject a proposal of somebody else:"),
):
    _steering(_action, _text)
