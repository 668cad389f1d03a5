"""More requests at once than the link reads ahead, over a real MQTT server."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from broker.accept import turnstile
from broker.link import mqtt5_incoming
from tests.links import PATIENCE_S, peer

MANY, AHEAD, REPLIES = 600, 100, 20


async def test_every_request_is_answered(start_service: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are all there when the service looks: it reads no more before it has decided some."""
    monkeypatch.setattr(mqtt5_incoming, "MESSAGES_MOST", AHEAD)
    monkeypatch.setattr(turnstile, "REPLIES_MOST", REPLIES)
    service = start_service("r1", rates={"rate": 0})
    all_sent = threading.Event()
    async with peer(service.port, "many", user=None, password=None) as client:
        await client.subscribe(f"{service.root}/res/many/c/+", qos=1)
        standing = asyncio.create_task(asyncio.to_thread(service.call, all_sent.wait))
        try:
            async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
                for number in range(MANY):
                    topic = f"{service.root}/req/many/c/r1/GetGravityVector"
                    tasks.create_task(client.publish(topic, b'{"id":"%d","params":{}}' % number, qos=1))
        finally:
            all_sent.set()
        await standing
        answered: set[str] = set()
        async with asyncio.timeout(PATIENCE_S):
            async for message in client.messages:
                answered.add(message.topic.value.rpartition("/")[2])
                if len(answered) == MANY:
                    break
