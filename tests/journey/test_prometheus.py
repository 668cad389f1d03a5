"""A real Prometheus scrapes a service that works: it takes the rules, and every panel of the dashboard shows data."""

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto, free_port
from tests.prometheus import DASHBOARD, Prometheus, queries_of

pytestmark = pytest.mark.mqtt
WINDOW = "20s"
MORE = """
[metrics]
listen = "127.0.0.1:{port}"
"""
IN_SIGHT = ("armbroker_arms_online{activity='idle'} == 1", "sum(armbroker_arms{presence='offline'}) == 1")
"""Arms are counted each 10 s."""
METHOD = "SetTwistLinearSoftLimit"


@pytest.fixture
def watched(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[tuple[ServiceProcess, Prometheus]]:
    """A service, not started, and a Prometheus that looks for it."""
    port = free_port()
    service = ServiceProcess(mosquitto, tmp_path, "watched", ("r1", "r2"), more=MORE.format(port=port))
    prometheus = Prometheus(tmp_path / "prometheus", f"127.0.0.1:{port}").start()
    yield service, prometheus
    prometheus.stop()
    service.kill()


def twist(value: float) -> dict[str, object]:
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": value}


async def begin(client: Client) -> None:
    """A change with an end, an arm that is away, a plan of which one change waits for it."""
    await client.change("r1", "SetPayloadInformation", {"payload_mass": 1.0}, valid_for_ms=600_000)
    await client.change("r2", "SimFault", {"fault": "offline"})
    await client.change("@all", METHOD, twist(0.15), wait="stored")


async def work(client: Client) -> None:
    """A change, a refusal, and what does not exist."""
    await client.change("r1", METHOD, twist(0.2))
    assert (await client.call("r1", METHOD, twist(9.0)))["error"]["kind"] == "out_of_limits"
    assert (await client.call("r1", "NoSuchMethod"))["error"]["kind"] == "unknown_method"


@pytest.mark.timeout(120)
async def test_every_panel_of_the_dashboard_shows_what_a_real_prometheus_scraped(
    watched: tuple[ServiceProcess, Prometheus],
) -> None:
    service, prometheus = watched
    service.start()
    panels = {panel["title"]: queries_of(panel, WINDOW) for panel in DASHBOARD["panels"] if panel.get("targets")}
    async with Client(service.port, service.root, "ann", "ann-1") as client:
        await client.subscribe("svc/+")
        await online(client, 1)
        await begin(client)
        empty = {(title, query) for title, queries in panels.items() for query in queries}
        while empty:
            await work(client)
            await asyncio.sleep(1)  # a scrape
            empty -= {each for each in empty if any(map(shown, await prometheus.series(each[1])))}
        for query in ("armbroker_overrides == 1", 'armbroker_changes{state="pending"} == 1', *IN_SIGHT):
            await prometheus.until(query)
    groups = (await prometheus.ask("rules"))["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} <= {"ok", "unknown"}
    assert "level=error" not in prometheus.log
    assert await service.stop() == 0


def shown(series: dict[str, object]) -> bool:
    """Whether a series has a point that is a number."""
    value = series["value"]
    return isinstance(value, list) and not math.isnan(float(value[1]))


async def test_a_query_that_is_none_is_told(watched: tuple[ServiceProcess, Prometheus]) -> None:
    _, prometheus = watched
    await prometheus.until("vector(1)")
    with pytest.raises(ValueError, match="parse error"):
        await prometheus.series("sum(")
    assert await prometheus.series("armbroker_no_such") == []
