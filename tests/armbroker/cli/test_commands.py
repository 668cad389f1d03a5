import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from armbroker.cli.commands import app
from armbroker.cli.exits import Exit
from armbroker.cli.times import clock
from tests.armbroker.client.responder import Answer, Asked, always, responding
from tests.links import PATIENCE_S
from tests.mosquitto import Mosquitto, free_port

CLOCK = clock("2026-11-30T09:12:04.512345Z")


class Ended(NamedTuple):
    code: int | None
    out: str
    err: str


async def start(*arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "armbroker", *arguments, stdout=PIPE, stderr=PIPE)


async def end_of(process: Process) -> Ended:
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    return Ended(process.returncode, out.decode(), err.decode())


async def armbroker(*arguments: str) -> Ended:
    return await end_of(await start(*arguments))


async def answered(server: Mosquitto, answer: Answer, *arguments: str) -> tuple[Ended, Asked]:
    async with responding(server.port, answer) as service:
        ended = await armbroker("call", *arguments, "--mqtt", server.url)
    return ended, service.asked[0]


@pytest.mark.parametrize(
    ("arguments", "example"),
    [
        (["--help"], "armbroker demo"),
        ([], "armbroker demo"),
        (["call", "--help"], "armbroker call r12 GetControlMode"),
        (["watch", "--help"], "armbroker watch r12 --json"),
        (["demo", "--help"], "armbroker demo --once"),
        (["web", "--help"], "armbroker web --bind 0.0.0.0:8080"),
        (["top", "--help"], "armbroker top --mqtt"),
        (["run", "--help"], "armbroker run --config"),
    ],
)
def test_every_help_has_examples(arguments: list[str], example: str) -> None:
    ended = CliRunner().invoke(app, arguments)
    assert example in ended.output
    assert ended.exit_code == (Exit.OK if arguments else Exit.USAGE)


@pytest.mark.parametrize(
    "command", sorted(each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands)
)
def test_no_help_shows_its_marks(command: str) -> None:
    ended = CliRunner().invoke(app, [command, "--help"])
    assert ended.exit_code == Exit.OK
    assert "\\b" not in ended.output
    assert "\b" not in ended.output


async def test_version() -> None:
    assert (await armbroker("--version")).out.startswith("armbroker ")


async def test_call_says_everything_it_was_told(mosquitto: Mosquitto) -> None:
    options = "--id mine --wait stored --dry-run --if-rev 3 --unit deg --view desired --ttl-ms 900 --user bob --conn h"
    ended, asked = await answered(
        mosquitto, always, "r12", "SetGravityVector", '{"z":-9.81}', "--reason", "new base", *options.split()
    )
    assert ended.code == Exit.OK, ended.err
    assert ended.out.startswith(f"{CLOCK} r12 SetGravityVector: applied, rev 2 seq 1 id mine\n")
    assert (asked.user, asked.conn, asked.arm, asked.method) == ("bob", "h", "r12", "SetGravityVector")
    assert asked.request.pop("issued_at")
    assert asked.expiry_s == 1
    assert asked.request == {
        "id": "mine",
        "params": {"z": -9.81},
        "wait": "stored",
        "dry_run": True,
        "if_rev": 3,
        "reason": "new base",
        "unit": "deg",
        "view": "desired",
        "ttl_ms": 900,
    }


async def test_call_takes_a_client_id_of_its_own(mosquitto: Mosquitto) -> None:
    _, asked = await answered(mosquitto, always, "r12", "GetControlMode")
    assert asked.user == "cli"
    assert asked.conn.startswith("cli-")
    assert len(asked.conn) == 12


async def test_call_shows_the_reply_as_json(mosquitto: Mosquitto) -> None:
    ended, asked = await answered(mosquitto, always, "r12", "GetControlMode", "--json")
    assert json.loads(ended.out) == asked.reply()


async def test_call_shows_results_and_warnings(mosquitto: Mosquitto) -> None:
    def answer(asked: Asked) -> dict[str, Any]:
        return asked.reply(
            stage="read", result={"control_mode": "IDLE"}, warnings=[{"name": "DEVICE_DISCONNECTED", "message": "away"}]
        )

    ended, _ = await answered(mosquitto, answer, "r12", "GetControlMode")
    assert 'result {\n  "control_mode": "IDLE"\n}' in ended.out
    assert "warning DEVICE_DISCONNECTED: away" in ended.out


async def test_call_refused(mosquitto: Mosquitto) -> None:
    ended, _ = await answered(mosquitto, lambda asked: asked.refusal("not_finite", "new_id"), "r12", "SetGravityVector")
    assert ended.code == Exit.REFUSED
    assert "not_finite (INVALID_PARAM): not_finite\nretry: new_id" in ended.out


async def test_call_unanswered(mosquitto: Mosquitto) -> None:
    ended, _ = await answered(mosquitto, lambda _: None, "r12", "GetControlMode", "--timeout", "0.3")
    assert ended.code == Exit.NO_ANSWER
    assert "unknown" in ended.err


async def test_call_without_a_server() -> None:
    ended = await armbroker("call", "r12", "GetControlMode", "--mqtt", f"mqtt://127.0.0.1:{free_port()}")
    assert ended.code == Exit.NO_SERVER
    assert "refused" in ended.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["r12"], "METHOD"),
        (["r12", "X", "{"], "PARAMS-JSON"),
        (["r12", "X", "[]"], "an object is wanted"),
        (["r12", "X", "--mqtt", "plant"], "mqtt://host"),
        (["r/12", "X"], "arm 'r/12'"),
        (["r12", "X", "--password-file", "/nowhere"], "/nowhere"),
        (["r12", "X", "--loud"], "--loud"),
    ],
)
async def test_call_wrongly_used(mosquitto: Mosquitto, arguments: list[str], why: str) -> None:
    ended = await armbroker("call", *arguments, *([] if "--mqtt" in arguments else ["--mqtt", mosquitto.url]))
    assert ended.code == Exit.USAGE
    assert why in ended.err


async def test_call_with_a_password(plant: Mosquitto, tmp_path: Path) -> None:
    file = tmp_path / "alice.txt"
    file.write_text(plant.passwords["alice"] + "\n")
    async with responding(plant.port, password=plant.passwords["svc"]):
        ended = await armbroker(
            "call", "r12", "GetControlMode", "--mqtt", plant.url, "--user", "alice", "--password-file", str(file)
        )
    assert ended.code == Exit.OK, ended.err


async def test_watch_shows_lines_until_interrupted(mosquitto: Mosquitto) -> None:
    document = {"epoch": 1, "seq": 1, "rev": 2, "at": "2026-11-30T09:12:04.512345Z", "control_mode": "IDLE"}
    async with responding(mosquitto.port) as service:
        await service.publish("state/seen/mode", document, retain=True)
        lines, objects = (
            await start("watch", "seen", "--mqtt", mosquitto.url),
            await start("watch", "--json", "--mqtt", mosquitto.url),
        )
        assert lines.stdout is not None
        assert objects.stdout is not None
        assert await lines.stdout.readline() == f"{CLOCK} seen mode rev 2 seq 1: IDLE\n".encode()
        seen = json.loads(await objects.stdout.readline())
        await service.publish("state/seen/mode", None, retain=True)
        lines.send_signal(signal.SIGINT)
        objects.send_signal(signal.SIGINT)
        assert (await end_of(lines)).code == Exit.INTERRUPTED
        assert (await end_of(objects)).code == Exit.INTERRUPTED
    assert seen == {"type": "document", "arm": "seen", "name": "mode", "document": document}


async def test_watch_says_that_nothing_tells_of_an_arm_and_that_a_service_is_silent(mosquitto: Mosquitto) -> None:
    document = {"state": "online", "epoch": 1, "seen_at": "2026-11-30T09:12:04.512345Z"}
    async with responding(mosquitto.port) as service:
        await service.publish("svc/old", document, retain=True)
        process = await start("watch", "nosuch", "--mqtt", mosquitto.url)
        assert process.stderr is not None
        told = [await asyncio.wait_for(process.stderr.readline(), 30) for _ in range(2)]
        await service.publish("svc/old", None, retain=True)
        process.send_signal(signal.SIGINT)
        assert (await end_of(process)).code == Exit.INTERRUPTED
    silent, unknown = told
    assert silent.startswith(b"armbroker: service old says online, but was not seen for 30 s (last 2026-11-30T09:12:04")
    assert unknown == b"armbroker: no service tells of an arm 'nosuch'; still listening\n"


async def test_watch_ends_when_nobody_reads(mosquitto: Mosquitto) -> None:
    document = {"epoch": 1, "seq": 1}
    async with responding(mosquitto.port) as service:
        await service.publish("state/piped/mode", document, retain=True)
        process = await asyncio.create_subprocess_shell(
            f"{sys.executable} -m armbroker watch piped --mqtt {mosquitto.url} | head -1; exit ${{PIPESTATUS[0]}}",
            stdout=PIPE,
            stderr=PIPE,
            executable="/bin/bash",
        )
        assert process.stdout is not None
        await process.stdout.readline()
        while process.returncode is None:
            document = {**document, "seq": document["seq"] + 1}
            await service.publish("state/piped/mode", document, retain=True)
        await service.publish("state/piped/mode", None, retain=True)
        ended = await end_of(process)
    assert (ended.code, ended.err) == (Exit.OK, "")


async def test_watch_without_a_server() -> None:
    assert (await armbroker("watch", "--mqtt", f"mqtt://127.0.0.1:{free_port()}")).code == Exit.NO_SERVER
