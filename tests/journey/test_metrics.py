"""The pages of a whole process, and the same numbers over MQTT."""

import asyncio
import http.client
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

pytestmark = pytest.mark.mqtt
METHOD = "SetTwistLinearSoftLimit"
TWIST = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def fetch(port: int, path: str) -> tuple[int, str]:
    """Status and text of a page; 0 where nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()


async def until(port: int, path: str, status: int) -> str:
    """Ask for a page until it answers with a status; its text."""
    while True:
        found, text = await asyncio.to_thread(fetch, port, path)
        if found == status:
            return text
        await asyncio.sleep(0.05)


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """An MQTT server that may be ended."""
    server = Mosquitto(tmp_path_factory.mktemp("server")).start()
    yield server
    server.stop()


@pytest.fixture
def service(server: Mosquitto, tmp_path: Path) -> Iterator[tuple[ServiceProcess, int]]:
    """A service with pages, not started, and their port."""
    port = free_port()
    service = ServiceProcess(server, tmp_path, "watched", ("r1",), more=f'[metrics]\nlisten = "127.0.0.1:{port}"\n')
    yield service, port
    service.signal(signal.SIGCONT)
    service.kill()


async def test_a_service_is_watched(service: tuple[ServiceProcess, int], server: Mosquitto) -> None:
    process, port = service
    async with Client(process.port, process.root, "ann", "ann-1") as client:
        await client.subscribe("svc/+")
        process.start()
        await online(client, 1)
        await until(port, "/readyz", 200)
        assert (await client.change("r1", METHOD, TWIST))["stage"] == "applied"
        text = await until(port, "/metrics", 200)
        counted = f'armbroker_requests_total{{codec="json",method="{METHOD}",outcome="applied"}} 1.0'
        assert counted in text.splitlines()
        assert 'armbroker_mqtt_connected{connection="requests"} 1.0' in text.splitlines()
        assert await until(port, "/healthz", 200) == "ok\n"
        told = await client.document(
            "svc/main", lambda each: each.get("metrics", {}).get("requests_total") == {"applied": 1}
        )
        assert told["metrics"]["arms"]["online"] == 1
    server.stop()
    assert await until(port, "/readyz", 503) == "it is not connected to the MQTT server\n"
    assert await until(port, "/healthz", 200) == "ok\n"
    server.start()
    assert await until(port, "/readyz", 200) == "ready\n"
    assert 'armbroker_mqtt_connections_total{connection="requests"} 2.0' in await until(port, "/metrics", 200)
    assert await process.stop() == 0


async def test_a_process_that_stands_still_does_not_answer(service: tuple[ServiceProcess, int]) -> None:
    process, port = service
    process.start()
    await until(port, "/readyz", 200)
    process.signal(signal.SIGSTOP)
    assert await asyncio.to_thread(fetch, port, "/healthz") == (0, "")
    process.signal(signal.SIGCONT)
    assert await until(port, "/healthz", 200) == "ok\n"
    assert await process.stop() == 0


async def test_a_service_that_waits_for_the_mqtt_server_is_healthy_and_not_ready(
    service: tuple[ServiceProcess, int], server: Mosquitto
) -> None:
    process, port = service
    server.stop()
    process.start()
    assert "waits for the MQTT server" in await until(port, "/readyz", 503)
    assert await until(port, "/healthz", 200) == "ok: starting\n"
    assert (await until(port, "/metrics", 503)).startswith("the service does not run")
    server.start()
    await until(port, "/readyz", 200)
    assert await process.stop() == 0


async def test_an_address_in_use_ends_the_start(service: tuple[ServiceProcess, int]) -> None:
    process, port = service
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        process.start()
        assert await process.exit_code() == 1
    assert f"metrics.listen: 127.0.0.1:{port}" in process.log
    assert "Traceback" not in process.log
