"""`armbroker run`: the service. Loads nothing that the service does not need."""

import argparse
import asyncio
import faulthandler
import signal
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from armbroker.cli.exits import Exit
from broker.settings import LOG_LEVELS, LONGEST_LATENCY_MS, Settings, SettingsError, quick
from broker.settings.journal import reads_along
from broker.settings.supervision import supervision

if TYPE_CHECKING:
    from broker.arms.fleet_check import CheckedFleet
    from broker.reload import Reread

_EXAMPLES = """\
examples:
  armbroker run --config /etc/armbroker/fleet.toml
  armbroker run --check --config /etc/armbroker/fleet.toml
  armbroker run --mqtt mqtt://127.0.0.1:1883 --data ./data --sim 3
  armbroker run --mqtt mqtt://127.0.0.1:1883 --data ./data --sim 100 --sim-latency 0 --sim-faults

The quick form serves simulated arms sim-0000, sim-0001, ... of model gen3_7dof, for a trial on this machine: nobody
proves who a client is. Ends on SIGTERM or Ctrl-C; reads the file of --config again on SIGHUP. Exit codes: 0 ended as
told, 1 failed, 2 settings or usage, 4 no MQTT server, store locked, or another service serves the same root."""


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} < 0")
    return number


def _milliseconds(text: str) -> float:
    number = float(text)
    if not 0 <= number <= LONGEST_LATENCY_MS:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and {LONGEST_LATENCY_MS}")
    return number


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line of `armbroker run`."""
    parser = argparse.ArgumentParser(
        prog="armbroker run",
        description="Run the service.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="the settings, a fleet.toml")
    form = parser.add_argument_group("quick form, instead of --config")
    form.add_argument("--mqtt", metavar="URL", help="MQTT server, mqtt://host[:port]")
    form.add_argument("--data", type=Path, metavar="DIR", help="where the store lies (default: data)")
    form.add_argument("--sim", type=_count, metavar="N", help="how many simulated arms (default: 3)")
    form.add_argument("--sim-latency", type=_milliseconds, metavar="MS", help="how long an arm takes (default: 25)")
    form.add_argument("--sim-faults", action="store_true", default=None, help="allow SimFault")
    form.add_argument("--root", help="first levels of every topic (default: armbroker)")
    parser.add_argument(
        "--accept-lost-history",
        action="store_true",
        default=None,
        help="serve a store that knows less than its anchor or its arms, in a higher epoch; goes to the audit",
    )
    parser.add_argument(
        "--take-over", action="store_true", default=None, help="tell another service that serves the same root to end"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        default=None,
        help="look at FILE and all that it names, say everything that is wrong, and end; nothing is made or reached",
    )
    parser.add_argument(
        "--no-wait", action="store_true", default=None, help="end with 4 where no MQTT server answers within 8 s"
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, help="what to log, as JSON lines on standard error")
    return parser


def _read(config: Path, log_level: str | None, now_us: int) -> "CheckedFleet":
    """The settings of a file whose arms can be opened, with what the command line says."""
    from broker.arms.fleet_check import read_fleet  # noqa: PLC0415 - `--help` and a wrong command line need no arms

    checked = read_fleet(config, now_us)
    return checked._replace(settings=_with(checked.settings, log_level))


def _with(settings: Settings, log_level: str | None) -> Settings:
    return settings if log_level is None else msgspec.structs.replace(settings, log_level=log_level)


class Asked(NamedTuple):
    """What the command line asks for: settings, and how to read them again if they are of a file."""

    settings: Settings
    reread: "Reread | None" = None
    doubts: tuple[str, ...] = ()
    accept_lost: bool = False
    take_over: bool = False
    check: bool = False
    wait: bool = True


def asked_of(arguments: list[str]) -> Asked:
    """What the command line asks for; of a file, everything that it names was looked at.

    Raises:
        SystemExit: 2 for a wrong command line, 0 for `--help`.
        SettingsError: the settings cannot be used.
    """
    parser = make_parser()
    given = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value is not None}
    log_level: str | None = given.pop("log_level", None)
    config: Path | None = given.pop("config", None)
    how = {
        "accept_lost": given.pop("accept_lost_history", False),
        "take_over": given.pop("take_over", False),
        "check": given.pop("check", False),
        "wait": not given.pop("no_wait", False),
    }
    if how["check"] and config is None:
        parser.error("--check looks at a file: --config FILE is needed")
    if config is not None and given:
        parser.error(f"--config and --{next(iter(given)).replace('_', '-')} exclude each other: set it in {config}")
    if config is None and "mqtt" not in given:
        parser.error("--config FILE or --mqtt URL is needed")
    if config is not None:
        from broker.clock import Clock  # noqa: PLC0415 - `--help` and a wrong command line need no service

        reread = partial(_read, config, log_level)
        checked = reread(Clock().now_us())
        return Asked(checked.settings, reread, checked.doubts, **how)
    settings = quick(
        given["mqtt"],
        given.get("data", Path("data")),
        given.get("sim", 3),
        latency_ms=given.get("sim_latency", 25.0),
        faults=given.get("sim_faults", False),
        root=given.get("root", "armbroker"),
    )
    return Asked(_with(settings, log_level), **how)


def run(arguments: list[str]) -> int:
    """Serve until told to end; returns the exit code."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the service can follow it, a reload must not end the process
    try:
        asked = asked_of(arguments)
    except SettingsError as error:
        sys.stderr.write(f"armbroker run: {error}\n")
        return Exit.USAGE
    if asked.check:
        sys.stdout.write("".join(f"doubtful: {what}\n" for what in asked.doubts))
        sys.stdout.write(f"ok: {len(asked.settings.arm)} arms\n")
        return Exit.OK
    from broker import logs  # noqa: PLC0415 - `--help` and a wrong setting need no service
    from broker.app import Start, serve  # noqa: PLC0415 - likewise
    from broker.garbage import ShortCollections  # noqa: PLC0415 - likewise
    from broker.reload import tell_doubts  # noqa: PLC0415 - likewise
    from broker.supervisor import Supervisor  # noqa: PLC0415 - likewise

    faulthandler.enable()  # SIGABRT of a watchdog: where it hung is told
    logs.set_up(asked.settings.log_level, priorities=reads_along())
    tell_doubts(asked.doubts)
    how = Start(
        accept_lost=asked.accept_lost, take_over=asked.take_over, wait=asked.wait, supervisor=Supervisor(*supervision())
    )
    collections = ShortCollections()
    collections.begin()
    try:
        return asyncio.run(collections.around(serve(asked.settings, reread=asked.reread, how=how)))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception:  # noqa: BLE001 - whatever it was, the code of the end tells a supervisor to start again
        traceback.print_exc()
        return Exit.CRASHED
