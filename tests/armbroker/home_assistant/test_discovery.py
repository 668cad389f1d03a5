"""The sensors read the documents of a real service, by Jinja as Home Assistant does."""

import json
import secrets
from pathlib import Path
from typing import Any

import jinja2
import pytest

from armbroker.client.connection import Login
from armbroker.home_assistant.discovery import SENSORS, device, discovery_topic
from armbroker.home_assistant.teller import Teller
from broker.topics import Topics
from schema.enums import ControlMode
from tests.journey.running import RunningService, settings_of
from tests.links import peer
from tests.mosquitto import Mosquitto

PRESENCE = {"svc": "main", "state": "online", "model": "gen3_7dof", "serial": "SIM1"}
PLATFORMS = {"sensor": {"enum", "weight", None}, "binary_sensor": {"connectivity", "problem", None}}


def test_each_sensor_is_of_a_kind_that_home_assistant_has() -> None:
    for sensor in SENSORS.values():
        assert sensor.more.get("device_class") in PLATFORMS[sensor.platform]
        assert ("options" in sensor.more) is (sensor.more.get("device_class") == "enum")
        assert set(sensor.more) <= {
            "device_class",
            "options",
            "entity_category",
            "unit_of_measurement",
            "state_class",
        }


def test_nothing_can_be_commanded() -> None:
    told = device(Topics("armbroker"), "armbroker", "r12", PRESENCE)
    assert "command" not in json.dumps(told)
    assert all("/v1/state/r12/" in part["state_topic"] for part in told["components"].values())


def test_names_become_object_ids() -> None:
    assert discovery_topic("ha", "plant/hall-1", "cell.4") == "ha/device/plant_hall_1_cell_4/config"


def test_what_is_not_known_is_left_out() -> None:
    told = device(Topics("armbroker"), "armbroker", "r12", {"svc": "main"})
    assert told["device"] == {"identifiers": ["armbroker_armbroker_r12"], "name": "r12"}


@pytest.fixture
def name() -> str:
    """The root of a service of its own."""
    return f"t{secrets.token_hex(5)}"


@pytest.fixture
def service(mosquitto: Mosquitto, tmp_path: Path, name: str) -> Any:
    service = RunningService(settings_of(mosquitto.url, name, tmp_path / "data", ["r12"])).start()
    yield service
    service.stop()


def login(service: RunningService) -> Login:
    return Login(service.settings.mqtt.url, "ha", None, "ha")


async def retained(service: RunningService, topics: list[str]) -> dict[str, Any]:
    """The documents that are retained on these topics."""
    found: dict[str, Any] = {}
    async with peer(service.port, "reader") as reader:
        for topic in topics:
            await reader.subscribe(topic, qos=1)
        async for message in reader.messages:
            found[message.topic.value] = json.loads(message.payload)
            if len(found) == len(topics):
                break
    return found


async def test_its_sensors_read_the_documents_of_a_service(service: RunningService) -> None:
    teller = Teller(login(service), service.settings.root, f"{service.settings.root}-ha")
    arms = [each async for each in teller.run(once=True)]
    assert arms == [("r12", True)]
    topic = discovery_topic(f"{service.settings.root}-ha", service.settings.root, "r12")
    told = (await retained(service, [topic]))[topic]
    assert told["device"]["model"] == "gen3_7dof"
    documents = await retained(service, sorted({part["state_topic"] for part in told["components"].values()}))
    environment = jinja2.Environment(undefined=jinja2.ChainableUndefined, autoescape=True)
    read = {
        key: environment.from_string(part["value_template"]).render(value_json=documents[part["state_topic"]])
        for key, part in told["components"].items()
    }
    assert read == {
        "online": "ON", "ready": "ON", "authority": "control", "locked": "OFF", "mode": "IDLE", "revision": "1",
        "waiting": "0", "differs": "OFF", "payload": "0.0", "tool": "0.0",
    }  # fmt: skip
    assert read["mode"] in {mode.name for mode in ControlMode}
    (availability,) = told["availability"]
    svc = (await retained(service, [availability["topic"]]))[availability["topic"]]
    assert environment.from_string(availability["value_template"]).render(value_json=svc) == "online"


async def test_it_is_taken_back(service: RunningService) -> None:
    prefix = f"{service.settings.root}-ha"
    assert [each async for each in Teller(login(service), service.settings.root, prefix).run(once=True)]
    back = Teller(login(service), service.settings.root, prefix, remove=True)
    assert [each async for each in back.run(once=True)] == [("r12", False)]
    async with peer(service.port, "reader") as reader:
        await reader.subscribe(f"{prefix}/#", qos=1)
        await reader.subscribe(f"{service.root}/svc/+", qos=1)
        async for message in reader.messages:
            assert not message.topic.matches(f"{prefix}/#")
            break
