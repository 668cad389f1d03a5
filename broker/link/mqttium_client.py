"""mqttium as the link uses it: how a client is built, what its messages and errors become."""

import ssl
from collections.abc import Iterable

from mqttium import (
    ConnectError,
    ConnectRefusedError,
    MQTTError,
    MQTTProtocolVersion,
    PublishRejectedError,
    QoS,
    SubscribeError,
)
from mqttium.api import AsyncClient, Message, Properties, PublishMessage, PublishReceipt, SubscribeOptions

from broker.link.kept_link import refusal
from broker.link.mqtt_link import (
    InboundMessage,
    LinkConfig,
    LinkError,
    LinkRefusedError,
    LinkUnreachableError,
)
from broker.link.outbound import LOST, TAKEN, Outbound
from broker.trace import NAME, traceparent

QOS_1 = QoS.AT_LEAST_ONCE
SUBSCRIBE = SubscribeOptions(qos=QOS_1, retain_as_published=True, retain_handling=2)
"""A retained request that was there before is not delivered; one published now shows its retain flag."""
SUBSCRIBE_RETAINED = SubscribeOptions(qos=QOS_1, retain_as_published=False, retain_handling=0)
"""What was retained before is delivered and shows the flag; what is published now does not."""
WITH_WILL = 0x04
"""The reason code of a DISCONNECT after which the will is published."""

_READ_AHEAD_MESSAGES = 2_000
_READ_AHEAD_BYTES = 32 * 2**20
_UNDER_WAY_MESSAGES = 2_000
_UNDER_WAY_BYTES = 32 * 2**20
_RECEIVE_MAXIMUM = 65_535
"""Mosquitto exceeds a smaller one under load, which mqttium takes for a protocol error."""
_NO_PROPERTIES = Properties()


def settle(message: Outbound, receipt: PublishReceipt) -> None:
    """What became of a publication, once that is known."""
    error = receipt.exception()
    if error is None:
        message.code = TAKEN
    else:
        message.code = error.reason_code if isinstance(error, PublishRejectedError) else LOST


def build_client(config: LinkConfig) -> AsyncClient:
    """A client for one connection."""
    will = config.will
    return AsyncClient(
        config.client_id,
        protocol=MQTTProtocolVersion.MQTTv5,
        clean_start=False,
        keepalive=config.keepalive_s,
        username=config.user or None,
        password=config.password or None,
        connect_properties=Properties({"session_expiry_interval": config.session_expiry_s}),
        will=None if will is None else PublishMessage(will.topic, will.payload, QOS_1, will.retain),
        max_inbound_inflight=_RECEIVE_MAXIMUM,
        max_unacknowledged_messages=_UNDER_WAY_MESSAGES,
        max_unacknowledged_bytes=_UNDER_WAY_BYTES,
        max_write_queue_bytes=_UNDER_WAY_BYTES,
        manual_ack=True,
        max_iterator_messages=_READ_AHEAD_MESSAGES,
        max_iterator_bytes=_READ_AHEAD_BYTES,
    )


def build_properties(content_type: str, expiry_s: int, correlation: bytes, trace: str = "") -> Properties:
    """The properties of a publish; empty ones are left out."""
    values: dict[str, object] = {}
    if content_type:
        values["content_type"] = content_type
    if expiry_s:
        values["message_expiry_interval"] = expiry_s
    if correlation:
        values["correlation_data"] = correlation
    if trace:
        values["user_property"] = ((NAME, trace),)
    return Properties(values)


def inbound(client: AsyncClient, message: Message, received_s: float) -> InboundMessage:
    """The record of a message that `client` delivered."""
    get = (message.properties or _NO_PROPERTIES).get
    return InboundMessage(
        message.topic,
        message.payload,
        message.retain,
        message.dup,
        get("content_type", ""),
        get("response_topic", ""),
        get("correlation_data", b""),
        get("message_expiry_interval"),
        (client, message),
        received_s,
        trace=_trace(get("user_property", ())),
    )


def _trace(pairs: Iterable[tuple[str, str]]) -> str:
    """The `traceparent` among user properties, the last one."""
    return traceparent(dict(pairs).get(NAME, "").encode())


def translated(error: MQTTError | OSError, config: LinkConfig) -> LinkError:
    """The link's error for one met while connecting and subscribing."""
    if isinstance(error, ConnectRefusedError):
        return refusal(config, error.reason_code)
    if isinstance(error, SubscribeError):
        code = max(error.result.reason_codes)
        return LinkRefusedError(f"{config.url} refused the subscription (reason code 0x{code:02x})", code)
    untrusted = isinstance(error, ConnectError) and isinstance(error.__cause__, ssl.SSLCertVerificationError)
    return LinkUnreachableError(f"no MQTT server at {config.url}: {error}", lasting=untrusted)
