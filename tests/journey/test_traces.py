"""The `traceparent` of a request is found again on its reply, its event and its notice."""

import asyncio

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService
from tests.links import PATIENCE_S, peer

pytestmark = pytest.mark.mqtt
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = "00-11111111111111111111111111111111-2222222222222222-00"
TWIST = b'"params": {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}'


async def publish(client: aiomqtt.Client, topic: str, payload: bytes, trace: str) -> None:
    """Publish a traced request."""
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho leaves it untyped
    properties.UserProperty = [("traceparent", trace)]
    await client.publish(topic, payload, qos=1, properties=properties)


async def traces(client: aiomqtt.Client, count: int) -> dict[str, str | None]:
    """The traces of the next publications, by topic below the version."""
    found: dict[str, str | None] = {}
    async with asyncio.timeout(PATIENCE_S):
        async for message in client.messages:
            pairs = dict(getattr(message.properties, "UserProperty", ()))
            found[str(message.topic).partition("/v1/")[2]] = pairs.get("traceparent")
            if len(found) == count:
                break
    return found


async def test_a_trace_is_carried_to_reply_event_and_notice(
    service: RunningService, connect: ClientMaker, arm: str
) -> None:
    owner = await connect(user="tom", conn="tom-1")
    handle = (await owner.change(arm, "ControlConfigurationTopic", {}))["result"]["identifier"]
    async with peer(service.port, "tracer") as client:
        for topic in ("res/tina/+/+", f"evt/{arm}/#", "ntf/tom/+/+"):
            await client.subscribe(f"{service.root}/{topic}", qos=1)
        start = f"{service.root}/req/tina/tina-1/{arm}"
        await publish(client, f"{start}/SetTwistLinearSoftLimit", b'{"id": "t1", ' + TWIST + b"}", TRACE)
        assert await traces(client, 3) == {
            "res/tina/tina-1/t1": TRACE,
            f"evt/{arm}/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED": TRACE,
            f"ntf/tom/tom-1/{handle}": TRACE,
        }
        await publish(client, f"{start}/SetTwistLinearSoftLimit", b'{"id": "t1", ' + TWIST + b"}", OTHER)
        assert await traces(client, 1) == {"res/tina/tina-1/t1": OTHER}, "a repeat is another journey"
        await publish(client, f"{start}/HoldArm", b'{"id": "t2", "params": {"reason": "a look"}}', TRACE)
        assert await traces(client, 2) == {"res/tina/tina-1/t2": TRACE, f"evt/{arm}/admin": TRACE}
        await publish(client, f"{start}/NoSuch", b'{"id": "t3"}', TRACE)
        assert await traces(client, 1) == {"res/tina/tina-1/t3": TRACE}
        await publish(client, f"{start}/GetGravityVector", b'{"id": "t4"}', "no trace")
        assert await traces(client, 1) == {"res/tina/tina-1/t4": None}
