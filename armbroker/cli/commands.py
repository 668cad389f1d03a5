"""The commands of `armbroker`, and their help."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armbroker.cli import (
    acl,
    audit,
    certs,
    completion,
    config_commands,
    copies,
    devices,
    doctor_command,
    health,
    limits,
    plans,
    policy,
    screens,
    store,
)
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
    from armbroker.client import RequestOptions

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="""Checked, durable, announced configuration changes for robot arms over MQTT.

    \b
    examples:
      armbroker demo
      armbroker run --mqtt mqtt://127.0.0.1:1883 --data ./data --sim 3
      armbroker call sim-0000 GetKinematicSoftLimits '{"control_mode":"CARTESIAN_JOYSTICK"}'
      armbroker watch sim-0000
      armbroker web
      armbroker COMMAND --help

    Not a safety function. Exit codes: 0 ok, 1 refused, 2 usage, 3 no answer, 4 no MQTT server or store locked.
    """,
)


Arm = Annotated[str, typer.Argument(metavar="ARM", help="Id of the arm.", autocompletion=completion.arms)]
Method = Annotated[
    str,
    typer.Argument(
        metavar="METHOD", help="Name of the RPC, for example SetGravityVector.", autocompletion=completion.methods
    ),
]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - only for this option

        typer.echo(f"armbroker {version('armbroker')}")
        raise typer.Exit


@app.callback()
def _main(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del show_version


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    short_help="Run the service: armbroker run --config fleet.toml",
)
def run(context: typer.Context) -> None:
    """Run the service; `armbroker run --help` tells more."""
    from armbroker.cli.run import run as run_service  # noqa: PLC0415 - only this command needs it

    raise typer.Exit(run_service(context.args))


@app.command(
    short_help="Send one request and show its reply: armbroker call r12 GetControlMode",
    help="""Send one request to ARM and show its reply.

    Without a reply, and after a refusal that asks for it, the same request is sent again until the timeout: the service
    acts on it once. What a refused or unanswered request did is said, and in the exit code: 0 ok, 1 refused, 2 usage,
    3 no answer, 4 no MQTT server.

    \b
    examples:
      armbroker call r12 GetControlMode
      armbroker call r12 SetTwistLinearSoftLimit \\
          '{"control_mode":"CARTESIAN_JOYSTICK","twist_linear_soft_limit":0.2}' --reason "new gripper"
      armbroker call r12 SetGravityVector '{"z":-9.81}' --dry-run
      armbroker call r12 SetPayloadInformation '{"payload_mass":2}' --valid-for 1h
      armbroker call r12 GetHistory '{"limit":5}' --json | jq .result
      armbroker call r12 SetControlMode '{"control_mode":"IDLE"}' --user alice --password-file alice.txt --conn hmi-1
    """,
)
def call(
    arm: Arm,
    method: Method,
    params: Annotated[str, typer.Argument(metavar="PARAMS-JSON", help="The RPC's message as JSON.")] = "{}",
    mqtt: Mqtt = None, user: User = None, password_file: PasswordFile = None, ca_file: CaFile = None,
    cert: Cert = None, key: Key = None, conn: Conn = None, root: Root = None, profile: ProfileName = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the reply, all told.")] = 15.0,
    wait: Annotated[str | None, typer.Option(help="What to wait for: applied or stored.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check only, change nothing.")] = False,
    if_rev: Annotated[int | None, typer.Option(help="Only if the value has not changed after this revision.")] = None,
    reason: Annotated[str | None, typer.Option(help="For the history; at most 200 characters.")] = None,
    unit: Annotated[str | None, typer.Option(help="Assert that the values are in deg or rad.")] = None,
    view: Annotated[str | None, typer.Option(help="Which truth a Get tells: reported, desired or ground.")] = None,
    ttl_ms: Annotated[
        int | None, typer.Option(help="Not begun within so many milliseconds: expired (default: 5 minutes; modes 2 s).")
    ] = None,
    valid_for: Annotated[str | None, typer.Option(help="An end of the change, after 90s, 10min, 2h.")] = None,
    until: Annotated[str | None, typer.Option(help="An end of the change, at a time: 22:00, RFC 3339.")] = None,
    when: Annotated[str | None, typer.Option(help="When it goes out: now, or once its arm is idle (ttl 8 h).")] = None,
    only: Annotated[str | None, typer.Option(help="Of a group: these arms alone, r11,r12.")] = None,
    away: Annotated[str | None, typer.Option(help="Of a group: arms that are away wait, refuse or skip.")] = None,
    all_or_nothing: Annotated[bool, typer.Option("--all-or-nothing", help="Of a group: each arm or none.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Let an accepted change wait for its arm without end.")] = False,
    request_id: Annotated[str | None, typer.Option("--id", help="Repeat an earlier request by its id.")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Parse, send, show."""
    from armbroker.cli import call as calling  # noqa: PLC0415 - the MQTT client, only for what speaks to a server

    options: RequestOptions = {
        "wait": wait, "dry_run": dry_run or None, "if_rev": if_rev, "reason": reason,
        "unit": unit, "view": view, "ttl_ms": ttl_ms, "when": when,
        "group": calling.group_of(only, away, all_or_nothing=all_or_nothing),
    }  # fmt: skip
    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    request = calling.Request(arm, method, params, timeout, request_id, options, keep, valid_for, until)
    end(calling.run(who, request, as_json=as_json))


@app.command(
    short_help="Show events and documents as they come: armbroker watch r12",
    help="""Show the documents and events of ARM, or of every arm, until Ctrl-C.

    Events come once each; what a lost connection missed is fetched from the service, and where that cannot be, a line
    says so.

    \b
    examples:
      armbroker watch
      armbroker watch r12 --since 2h --by alice
      armbroker watch r12 --since 09:30 --item payload_information
      armbroker watch r12 --json | jq 'select(.type == "event").event'
    """,
)
def watch(
    arm: Annotated[
        str | None,
        typer.Argument(metavar="ARM", help="Id of the arm, or @group; all without.", autocompletion=completion.arms),
    ] = None,
    mqtt: Mqtt = None,
    user: User = None,
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    cert: Cert = None,
    key: Key = None,
    conn: Conn = None,
    root: Root = None,
    profile: ProfileName = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Events since then first: 15min, 2h, 09:30 or an RFC 3339 time; needs ARM."),
    ] = None,
    by: Annotated[str, typer.Option(metavar="USER", help="Only events of changes by this user.")] = "",
    item: Annotated[
        str,
        typer.Option(
            metavar="ITEM", help="Only events of this item, as payload_information.", autocompletion=completion.items
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Watch and show."""
    from armbroker.cli import watch as watching  # noqa: PLC0415 - the MQTT client, only for what speaks to a server

    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    end(watching.run(who, watching.Wanted(arm, since, by, item), as_json=as_json))


@app.command(
    short_help="Show the service at work: armbroker demo",
    help="""Start an MQTT server (Mosquitto if it is installed, else the one of `pip install armbroker[demo]`), the
    service with three simulated arms, and a publisher; show requests, replies, events and limits as they happen.

    On a terminal it goes on after the script, for your own requests, until Ctrl-C. With --once, or without a terminal,
    it ends after the script: 0, or 1 if a step did not give what it should. Nothing is left behind.

    \b
    examples:
      armbroker demo
      armbroker demo --once
    """,
)
def demo(
    once: Annotated[bool, typer.Option("--once", help="Run the script once and end.")] = False,
) -> None:
    """Run the demo."""
    from armbroker.demo.play import run as play  # noqa: PLC0415 - only the demo needs it

    end(play(once=once or not sys.stdout.isatty()))


@app.command(
    short_help="Run simulated arms that speak MQTT: armbroker agent --arm r12",
    help="""Run simulated arms that speak MQTT themselves, for the adapter mqtt_agent of a service: on this host or
    another one. An example of what docs/agent_protocol.md asks of a device.

    Each arm has a connection of its own, as user of the arm's name. Ends on SIGTERM or Ctrl-C with a goodbye.

    \b
    examples:
      armbroker agent --mqtt mqtt://127.0.0.1:1883 --arm r12 --data ./r12
      armbroker agent --arms 50 --prefix cell-a- --model gen3_6dof --data ./cell-a
      armbroker agent --arm r12 --data ./r12 --faults <<< '{"arm":"r12","fault":"hang"}'
    """,
)
def agent(
    mqtt: Mqtt = None,
    arm: Annotated[list[str] | None, typer.Option(metavar="ID", help="Id of an arm; may be given again.")] = None,
    arms: Annotated[int, typer.Option(min=0, metavar="N", help="So many arms, PREFIX0000 and on.")] = 0,
    prefix: Annotated[str, typer.Option(help="What the ids of --arms begin with.")] = "agent-",
    model: Annotated[str, typer.Option(help="gen3_7dof, gen3_6dof or gen3_lite.")] = "gen3_7dof",
    data: Annotated[Path, typer.Option(metavar="DIR", help="What the arms remember; of one process only.")] = Path(
        "arms"
    ),
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File whose first line is the password of every arm.")
    ] = None,
    ca_file: CaFile = None,
    cert: Annotated[
        Path | None, typer.Option("--cert", metavar="FILE", help="Client certificate, PEM; {arm} stands for the arm.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="Its key; {arm} stands for the arm.")
    ] = None,
    root: Root = None,
    profile: ProfileName = None,
    keepalive: Annotated[int, typer.Option(min=1, help="Seconds; silence of 1.5 times this is a death.")] = 5,
    latency: Annotated[float, typer.Option(min=0, help="Milliseconds an arm takes.")] = 25.0,
    faults: Annotated[bool, typer.Option("--faults", help="Misbehave as JSON lines on standard input say.")] = False,
) -> None:
    """Run agents."""
    from armbroker.cli.agent import AgentArguments  # noqa: PLC0415 - only this command needs it
    from armbroker.cli.agent import run as run_agents  # noqa: PLC0415 - likewise

    own = "" if profile is None else None  # what proves a person is not what proves an arm
    who = account(profile, mqtt, root, ca_file, password_file or own, cert or own, key or own)
    given = AgentArguments(
        who.url, arm or [], arms, prefix, model, data, who.root, who.password_file, who.tls, keepalive, latency, faults
    )
    end(run_agents(given))


@app.command(
    name="home-assistant",
    short_help="Tell Home Assistant of the arms: armbroker home-assistant --once",
    help="""Tell Home Assistant, by MQTT discovery, of each arm and its sensors (docs/home_assistant.md): presence,
    mode, authority, what waits, what differs, payload and tool. They read; nothing in them can change an arm.

    \b
    examples:
      armbroker home-assistant --once --user hass --password-file hass.txt
      armbroker home-assistant --remove
    """,
)
def home_assistant(
    mqtt: Mqtt = None,
    user: User = None,
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    cert: Cert = None,
    key: Key = None,
    conn: Conn = None,
    root: Root = None,
    profile: ProfileName = None,
    prefix: Annotated[str, typer.Option(help="Home Assistant's discovery prefix.")] = "homeassistant",
    once: Annotated[bool, typer.Option("--once", help="Tell of the arms there are, and end.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take back what was told, and end.")] = False,
) -> None:
    """Tell Home Assistant."""
    from armbroker.cli.home_assistant import run  # noqa: PLC0415 - only this command needs it

    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    end(run(who, prefix, once=once, remove=remove))


app.command(
    name="doctor",
    short_help="Prove what an installation is: armbroker doctor --config fleet.toml --user alice",
    help="""Look at an installation, and prove on the running one what is right and what is not: settings, files, the
    MQTT server, its access rules, the service (docs/doctor.md). Each line says pass, FAIL or not checked; a failure
    what it means and what to do. Nothing is changed, no arm is written to. It takes some 15 s.

    The access rules are tried with an ordinary user, one of the doctor's own if client ids are bound to users.

    \b
    examples:
      armbroker doctor --config /etc/armbroker/fleet.toml
      armbroker doctor --config /etc/armbroker/fleet.toml --user alice --password-file alice.txt
      armbroker doctor --config /etc/armbroker/fleet.toml --profile plant --json | jq 'select(.outcome == "FAIL")'

    Exit codes: 0 nothing failed, 1 something did, 2 usage.
    """,
)(doctor_command.doctor)
app.command(
    name="acl",
    short_help="Write the MQTT server's access rules: armbroker acl --config fleet.toml --out DIR",
    help="""Write Mosquitto's access rules (acl_file) and the list of its users, by the settings: what the service, each
    client and each arm that speaks MQTT may publish and read (docs/identity.md). The same settings give the same files.

    \b
    examples:
      armbroker acl --config /etc/armbroker/fleet.toml
      armbroker acl --config /etc/armbroker/fleet.toml --out /etc/mosquitto && systemctl reload mosquitto
      armbroker acl --config fleet.toml --users
    """,
)(acl.acl)
app.command(
    name="certs",
    short_help="Make certificates for development: armbroker certs DIR --host localhost --client svc",
    help="""Make a certificate authority in DIR, for development and trials, and what it signs: the certificate of the
    MQTT server (--host), and one of each user (--client). What is there stays; --renew makes certificates anew, by the
    same authority. Needs armbroker[certs].

    \b
    examples:
      armbroker certs ./certs --host mqtt.plant.example --host 127.0.0.1 --client svc --client alice
      armbroker certs ./certs --client alice --renew --days 30
    """,
)(certs.certs)
app.command(short_help="Serve a page of the fleet: armbroker web", help=screens.WEB_HELP)(screens.web)
app.command(short_help="Show the fleet in the terminal: armbroker top", help=screens.TOP_HELP)(screens.top)
app.command(name="health", short_help=health.SHORT, help=health.TEXT)(health.health)
copies.register(app)
config_commands.register(app)
app.add_typer(audit.app, name="audit", short_help="The chain of the audit: armbroker audit --help")
app.add_typer(store.app, name="store", short_help="Work on a store at rest: armbroker store --help")
app.add_typer(plans.app, name="plan", short_help="Changes of groups and rollouts: armbroker plan --help")
app.add_typer(policy.app, name="policy", short_help="Rules that writes need: armbroker policy --help")
app.add_typer(devices.app, name="devices", short_help="Adapters for kinds of arms: armbroker devices --help")
app.add_typer(limits.app, name="limits", short_help="Joint limits in files: armbroker limits --help")
