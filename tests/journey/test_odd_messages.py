"""Messages with illegal properties, and retained ones of any kind, on the whole service: everybody else is served."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService
from tests.mosquitto import Mosquitto
from tests.odd_clients import send
from tests.odd_packets import ODD


def sessions_of(server: Mosquitto, client_id: str) -> int:
    """How often a client of this name connected."""
    return server.log.count(f" as {client_id} (")


async def test_whoever_publishes_anything_is_answered_or_ignored_and_others_are_served(
    mosquitto: Mosquitto, start_service: Callable[..., RunningService], connect: ClientMaker
) -> None:
    service = start_service("r1")
    client = await connect(to=service)
    name = service.settings.mqtt.client_id
    for number, odd in enumerate(ODD.values()):
        topic = f"{service.root}/req/{client.user}/{client.conn}/r1/GetControlMode"
        send(mosquitto, topic.encode(), json.dumps({"id": f"odd{number}"}).encode(), odd.properties)
    other = await connect(user="bob", to=service)
    reply = await other.call(
        "r1", "SetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
    )
    assert (reply["ok"], reply["stage"]) == (True, "applied")
    await client.call("r1", "WhoAmI")  # answered after all that this connection asked before
    answered = {message.topic.rpartition("/")[2]: message.document for message in client.inbox}
    warned = {leaf: [warning["name"] for warning in document["warnings"]] for leaf, document in answered.items()}
    for kind in ("response topic empty", "response topic a/+/b", "response topic #", "response topic a//b"):
        leaf = f"odd{list(ODD).index(kind)}"
        assert warned[leaf] == ["RESPONSE_TOPIC_IGNORED"], kind
        assert answered[leaf]["ok"]
    for kind in ("payload format 2", "1100 user properties", "8000 user properties"):
        leaf = f"odd{list(ODD).index(kind)}"
        assert (answered[leaf]["ok"], warned[leaf]) == (True, []), kind
    assert sessions_of(mosquitto, name) == 1


@pytest.mark.parametrize("payload", [b"", b"{}"])
async def test_a_retained_request_is_refused_and_its_clearing_ignored(
    mosquitto: Mosquitto, start_service: Callable[..., RunningService], connect: ClientMaker, payload: bytes
) -> None:
    service = start_service("r1")
    client = await connect(to=service)
    await client.publish(f"req/{client.user}/{client.conn}/r1/GetControlMode", payload, retain=True)
    await client.call("r1", "WhoAmI")
    kinds = [message.document["error"]["kind"] for message in client.inbox]
    assert kinds == (["retained_request"] if payload else [])
    await client.publish(f"req/{client.user}/{client.conn}/r1/GetControlMode", b"", retain=True)
    await client.call("r1", "WhoAmI")
    assert len(client.inbox) == len(kinds)
    assert sessions_of(mosquitto, service.settings.mqtt.client_id) == 1


async def test_retained_births_of_any_kind_keep_no_arm_away(
    mosquitto: Mosquitto, start_service: Callable[..., RunningService], connect: ClientMaker
) -> None:
    """They lie there before the service starts, and are met again after a restart."""
    root = "births"
    births: list[tuple[bytes, bytes]] = [(odd.name.encode(), odd.properties) for odd in ODD.values()]
    births += [(payload, b"") for payload in (b"\xff\xfe", b"{", b"[1]", b"null", b'{"session": 1e999}', bytes(60_000))]
    for number, (payload, properties) in enumerate(births):
        send(mosquitto, f"{root}/v1/dev/a{number}/birth".encode(), payload, properties, retain=True)
    table: list[dict[str, Any]] = [{"id": f"a{number}", "adapter": "mqtt_agent"} for number in range(0, len(births), 9)]
    table.append({"id": "r1", "adapter": "simulated", "model": "gen3_7dof"})
    service = start_service(root=root, arm=table)
    for start in range(2):
        if start:
            service.restart()
        client = await connect(to=service)
        assert (await client.call("r1", "GetControlMode"))["ok"]
        send(mosquitto, f"{root}/v1/dev/a0/birth".encode(), b"again", b"\x01\x02", retain=True)
        assert (await client.call("a0", "GetControlMode"))["error"]["kind"] == "arm_not_read"
    client_id = f"{service.settings.mqtt.client_id}-dev"
    assert sessions_of(mosquitto, client_id) == 2
    for number in range(len(births)):
        send(mosquitto, f"{root}/v1/dev/a{number}/birth".encode(), b"", b"", retain=True)
