"""The page of the protocol tells the fields that a running service publishes, and the params that methods take."""

import re
from typing import Any

import pytest

from handlers.rpc.row import Address
from handlers.rpc_table import RPC_TABLE
from scripts.protocol_tables import DOCUMENTS, MAPPINGS, META, SERVICE, SHARED, TOPICS
from tests.journey.conftest import ClientMaker

LIMIT = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
NAMES = re.compile(r"[a-z_]+")


async def test_every_field_of_every_document_is_told(connect: ClientMaker, arm: str) -> None:
    client = await connect("state/#", "svc/+", "meta/#")
    await client.change(arm, "SetTwistLinearSoftLimit", LIMIT)
    await client.change(arm, "SetControlMode", {"control_mode": "CARTESIAN_JOYSTICK"})
    await client.change(arm, "HoldArm", {"reason": "a look"})
    await client.document(f"state/{arm}/presence", lambda document: "hold" in document)
    seen = {name: (await client.document(f"state/{arm}/{name}", lambda _: True)).keys() for name in DOCUMENTS}
    for name, fields in seen.items():
        assert fields <= SHARED.keys() | DOCUMENTS[name].keys(), name
        assert fields >= SHARED.keys(), name
    service = await client.document("svc/main", lambda _: True)
    assert service.keys() <= SERVICE.keys()


@pytest.mark.parametrize("topic", META)
async def test_self_descriptions_have_the_fields_that_are_told(connect: ClientMaker, arm: str, topic: str) -> None:
    client = await connect("meta/#")
    document = await client.document(topic.replace("<arm>", arm), lambda _: True)
    told = set(NAMES.findall(META[topic]))
    if "..." not in META[topic] and topic != "meta/asyncapi":
        assert document.keys() <= told
    assert {name for name in told if name in document} or topic == "meta/asyncapi"


@pytest.mark.parametrize("method", MAPPINGS)
async def test_methods_take_the_params_that_are_told(connect: ClientMaker, arm: str, method: str) -> None:
    client = await connect()
    address = arm if Address.ARM in RPC_TABLE[method].address else "@all"
    error = (await client.call(address, method, {"no_such_param": 1}))["error"]
    if error["kind"] == "unknown_method":
        pytest.fail(f"{method}: {error}")
    known: list[str] = NAMES.findall(error["message"].partition("known: ")[2].partition(";")[0].partition("(")[0])
    told: set[Any] = set(NAMES.findall(MAPPINGS[method][0]))
    assert set(known) - {"none"} <= told, error["message"]


async def test_every_topic_of_an_event_is_told(connect: ClientMaker, arm: str) -> None:
    client = await connect("evt/#")
    await client.change(arm, "SetTwistLinearSoftLimit", LIMIT)
    event = await client.take(lambda message: message.topic.startswith(f"evt/{arm}/"))
    told = [re.sub(r"<\w+>", r"[^/]+", topic) for topic, *_ in TOPICS]
    assert any(re.fullmatch(pattern, event.topic) for pattern in told)
