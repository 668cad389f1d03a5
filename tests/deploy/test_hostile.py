"""The hostile publishes that the shipped MQTT server has to stop, sent byte for byte."""

import base64
import json
from pathlib import Path

from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import LinkConfig
from tests.links import payloads, take
from tests.mosquitto import Mosquitto
from tests.raw_publish import send


async def test_the_server_stops_what_is_its_to_stop(plant: Mosquitto, vectors_dir: Path) -> None:
    lines = (vectors_dir / "hostile_inputs.jsonl").read_text().splitlines()
    vectors = [one for one in map(json.loads, lines) if one["layer"] == "mqtt_server"]
    assert vectors
    service = Mqtt5Link(
        LinkConfig(
            url=plant.url,
            client_id="armbroker-main",
            filters=("armbroker/v1/req/#", "armbroker/v1/state/#"),
            user="svc",
            password=plant.passwords["svc"],
        )
    )
    await service.open()
    for vector in vectors:
        send(plant, vector)
    good = {
        "id": "good",
        "encoding": "raw",
        "user": "bob",
        "conn": "bob-hmi",
        "mqtt": {"version": 4, "qos": 1, "retain": False},
        "topic": "armbroker/v1/req/bob/bob-hmi/arm-0500/WhoAmI",
        "payload_b64": base64.b64encode(b"good").decode(),
    }
    send(plant, good)
    assert payloads(await take(service.messages(), 1)) == [b"good"]
    await service.close()
