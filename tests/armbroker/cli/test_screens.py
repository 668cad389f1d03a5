"""`armbroker web` and `armbroker top`, wrongly used."""

import asyncio
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE

import pytest

from armbroker.cli.exits import Exit
from tests.links import PATIENCE_S
from tests.mosquitto import Mosquitto, free_port


async def ended(*arguments: str, code: str = "") -> tuple[int | None, str]:
    """Exit code and standard error of a command; `code` runs before it."""
    start = ["-c", f"{code}\nfrom armbroker.__main__ import main; main()"] if code else ["-m", "armbroker"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *start, *arguments, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    _, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    return process.returncode, err.decode()


async def test_web_without_a_server() -> None:
    code, err = await ended("web", "--bind", "127.0.0.1:0", "--mqtt", f"mqtt://127.0.0.1:{free_port()}")
    assert code == Exit.NO_SERVER
    assert "refused" in err


async def test_web_on_an_address_that_is_taken(mosquitto: Mosquitto) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        code, err = await ended("web", "--bind", bind, "--mqtt", mosquitto.url)
    assert code == Exit.USAGE
    assert "address already in use" in err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("web", "--bind", "8080"), "HOST:PORT"),
        (("web", "--pages", "0"), "--pages"),
        (("web", "--mqtt", "plant"), "mqtt://host"),
        (("web", "--password-file", "/nowhere"), "/nowhere"),
        (("top", "--mqtt", "mqtt://127.0.0.1:1"), "needs a terminal"),
    ],
)
async def test_wrongly_used(arguments: tuple[str, ...], why: str) -> None:
    code, err = await ended(*arguments)
    assert code == Exit.USAGE
    assert why in err


async def test_top_without_textual_names_the_extra() -> None:
    code, err = await ended("top", code='import sys; sys.modules["textual"] = None; sys.argv[0] = "armbroker"')
    assert code == Exit.USAGE
    assert "pip install 'armbroker[top]'" in err
