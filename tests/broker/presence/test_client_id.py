"""The client id that nobody chose cannot be guessed, and stays."""

import sqlite3
from pathlib import Path

import pytest

from broker.presence.client_id import META_KEY, client_id_of, earlier_client_id, secret_of
from broker.settings import from_document
from broker.topics import is_name
from tests.journey.client import Client
from tests.journey.processes import ServiceProcess
from tests.mosquitto import Mosquitto
from tests.virtual_plant import Plant, play

SECRET = "0123456789abcdef"


@pytest.mark.parametrize(
    ("document", "client_id"),
    [
        ({}, f"armbroker-armbroker-main-{SECRET}"),
        ({"root": "plant/north", "instance": "two"}, f"armbroker-plant.north-two-{SECRET}"),
        ({"mqtt": {"client_id": "chosen"}}, "chosen"),
    ],
)
def test_it_carries_root_instance_and_secret(document: dict[str, object], client_id: str) -> None:
    assert client_id_of(from_document(document), SECRET) == client_id


def test_a_long_root_has_its_own_short_one() -> None:
    made = {client_id_of(from_document({"root": f"{'x' * 60}/{number}"}), SECRET) for number in range(5)}
    assert len(made) == 5
    assert all(is_name(client_id) and client_id.endswith(SECRET) for client_id in made)


def test_the_secret_is_made_once() -> None:
    assert secret_of({META_KEY: SECRET}) == SECRET
    assert len({secret_of({}) for _ in range(100)}) == 100


def test_only_a_store_that_served_without_a_secret_leaves_a_session_behind() -> None:
    settings, chosen = from_document({"instance": "two"}), from_document({"mqtt": {"client_id": "chosen"}})
    assert earlier_client_id(settings, {}, 2) == "armbroker-two"
    assert earlier_client_id(settings, {}, 1) == ""
    assert earlier_client_id(settings, {META_KEY: SECRET}, 2) == ""
    assert earlier_client_id(chosen, {}, 2) == ""


def test_the_store_keeps_it(tmp_path: Path) -> None:
    made: set[str] = set()

    async def scenario(plant: Plant) -> None:
        made.add(plant.service._link_config().client_id)

    for _ in range(3):
        play(tmp_path, scenario)
    (client_id,) = made
    assert client_id.startswith("armbroker-armbroker-main-")


async def test_the_session_of_an_earlier_version_ends(mosquitto: Mosquitto, tmp_path: Path) -> None:
    service = ServiceProcess(mosquitto, tmp_path, "leftbehind", ("r1",))
    text = service.config.read_text().replace('client_id = "service-leftbehind"', "")
    service.config.write_text(f'instance = "leftbehind"\n{text}')
    try:
        async with Client(service.port, service.root, "ann", "ann-left") as client:
            await client.subscribe("svc/+")
            service.start()
            first = await client.document("svc/leftbehind", lambda document: document["state"] == "online")
            await service.stop()
            store = sqlite3.connect(service.data / "store.sqlite3")
            with store:
                store.execute("DELETE FROM meta WHERE key = ?", (META_KEY,))
            store.close()
            service.start()
            await client.document(
                "svc/leftbehind", lambda each: each["state"] == "online" and each["start"] != first["start"]
            )
            assert (await client.change("r1", "GetGravityVector"))["ok"]
            assert '"session_left_behind"' in service.log
            assert await service.stop() == 0
    finally:
        service.kill()
