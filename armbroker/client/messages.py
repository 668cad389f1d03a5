"""MQTT messages as the client sees them."""

from collections.abc import Callable
from typing import NamedTuple

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

_new_properties: Callable[[int], Properties] = Properties


class Incoming(NamedTuple):
    """A message as it came; absent properties are empty, `retained` marks one stored before the subscription."""

    topic: str
    payload: bytes
    content_type: str
    correlation: bytes
    retained: bool


class Outgoing(NamedTuple):
    """A message to be published at QoS 1; the texts that are empty are left out of its properties.

    The MQTT server drops it after `expiry_s` (0: never). `undated` is its payload without `issued_at`, for a service
    whose clock does not agree with ours.
    """

    topic: str
    payload: bytes
    content_type: str
    correlation: bytes
    response_topic: str
    expiry_s: int = 0
    undated: bytes = b""
    retain: bool = False

    def properties(self) -> Properties:
        """The MQTT 5 properties."""
        properties = _new_properties(PacketTypes.PUBLISH)
        properties.ContentType = self.content_type
        if self.response_topic:
            properties.CorrelationData = self.correlation
            properties.ResponseTopic = self.response_topic
        if self.expiry_s:
            properties.MessageExpiryInterval = self.expiry_s
        return properties


def incoming(message: aiomqtt.Message) -> Incoming:
    """What aiomqtt received."""
    properties = message.properties
    return Incoming(
        topic=message.topic.value,
        payload=message.payload,
        content_type=getattr(properties, "ContentType", ""),
        correlation=getattr(properties, "CorrelationData", b""),
        retained=message.retain,
    )
