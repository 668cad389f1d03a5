"""What the service asks of the code that speaks MQTT for it, and the records that cross that border."""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from broker.link.outbound import Giver, Outbound
from broker.tls import TlsFiles

_DEFAULT_PORTS = {"mqtt": 1883, "mqtts": 8883}
OWN_CLIENT = "own"
UNTOLD_MAX_PACKET = 70_000
"""What to keep to, in bytes, where the MQTT server tells no Maximum Packet Size."""


_REASONS = {
    0x80: "unspecified",
    0x83: "implementation specific",
    0x87: "not authorized",
    0x90: "topic name invalid",
    0x91: "packet id in use",
    0x95: "packet too large",
    0x97: "quota exceeded",
    0x99: "payload format invalid",
}
"""Why an MQTT server refuses a publish."""


def reason_text(code: int) -> str:
    """A reason code of a PUBACK, for people."""
    return f"0x{code:02x} {_REASONS.get(code, 'unknown')}"


class LinkError(Exception):
    """The root of what a link raises."""


class LinkConfigError(LinkError):
    """A setting that no connection can be made with; the message begins with its name."""


class LinkUnreachableError(LinkError):
    """No MQTT server answered in time; `lasting` where trying again cannot help (its certificate is not trusted)."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class LinkRefusedError(LinkError):
    """The MQTT server refused the connection or the subscription; `reason_code` is MQTT's."""

    def __init__(self, message: str, reason_code: int) -> None:
        super().__init__(message)
        self.reason_code = reason_code


class LinkTakenOverError(LinkError):
    """Another client connected with the same client id, and the MQTT server gave it the session; not tried again."""


class LinkDownError(LinkError):
    """Nothing was published: there is no connection now."""


class LinkFullError(LinkError):
    """Nothing was published: the bounds of what may be under way are reached; try again after some are done."""


class LinkRejectedError(LinkError):
    """Nothing was published, and nothing would be: too large for the MQTT server, or no legal topic."""


class Will(msgspec.Struct, frozen=True):
    """What the MQTT server publishes (QoS 1) for a client that is gone without a DISCONNECT."""

    topic: str
    payload: bytes
    retain: bool = True


class LinkConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How to connect; times in seconds.

    `url` is `mqtt://host[:port]` or `mqtts://host[:port]`. `tls` names files, read at each attempt
    to connect; `read_password`, where it is given, is asked for the password then.
    `first_connection_s` bounds `open`; later connections are tried for ever, first after about `retry_first_s`,
    then after ever longer times up to `retry_max_s`. With `retained` each subscription brings what is retained, and
    `InboundMessage.retain` marks just that; without, what was retained before is not delivered, and the mark tells of
    every message how it was published. `client` names what speaks MQTT: our own, or `mqttium`.
    Of our own, `ahead_bytes` may have come and not be acknowledged; then nothing more is read until half of it is.
    """

    url: str
    client_id: str
    filters: tuple[str, ...]
    user: str = ""
    password: str = ""
    tls: TlsFiles = TlsFiles()
    will: Will | None = None
    session_expiry_s: int = 7 * 24 * 3600
    keepalive_s: int = 30
    first_connection_s: float = 10.0
    retry_first_s: float = 0.2
    retry_max_s: float = 10.0
    retained: bool = False
    read_password: Callable[[], str] | None = None
    client: str = OWN_CLIENT
    ahead_bytes: int = 32 * 2**20

    def __repr__(self) -> str:
        return f"LinkConfig(url={self.url!r}, client_id={self.client_id!r}, user={self.user!r})"


def with_password_of_now(config: LinkConfig) -> LinkConfig:
    """The configuration for one attempt to connect: with the password as it is now."""
    if config.read_password is None:
        return config
    return msgspec.structs.replace(config, password=config.read_password(), read_password=None)


class ServerAddress(msgspec.Struct, frozen=True):
    """Where the MQTT server listens."""

    host: str
    port: int
    tls: bool


def parse_url(url: str) -> ServerAddress:
    """The address in `mqtt://host[:port]` or `mqtts://host[:port]`; raises LinkConfigError for anything else."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise LinkConfigError(f"mqtt.url: {error}") from None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise LinkConfigError(f"mqtt.url: {url!r} is not mqtt://host[:port] or mqtts://host[:port]")
    if "@" in parts.netloc:
        raise LinkConfigError("mqtt.url: give user and password in their own settings, not in the URL")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise LinkConfigError(f"mqtt.url: {url!r} has something after the port")
    return ServerAddress(host, _DEFAULT_PORTS[parts.scheme] if port is None else port, parts.scheme == "mqtts")


class InboundMessage(msgspec.Struct, frozen=True, gc=False):
    """One message as delivered.

    `expiry_s` is the Message Expiry Interval left, None without one. `handle` is what `ack` needs to know,
    the connection the message came on included; it means nothing to others. `response_topic` and `content_type` stand
    as they came, illegal or not (U+FFFD for what is no UTF-8); an empty Response Topic shows as `blank_response`.
    `received_s` is when it was received, in seconds of the event loop's clock. Where that says nothing of how long it
    waited before, `sent_after_s` bounds it: it was not sent before then (-inf: nobody knows); the link leaves it None.
    """

    topic: str
    payload: bytes
    retain: bool
    dup: bool
    content_type: str
    response_topic: str
    correlation: bytes
    expiry_s: int | None
    handle: object
    received_s: float = math.inf
    """Infinite where no link says: then it counts as received when it is looked at."""
    sent_after_s: float | None = None
    blank_response: bool = False
    trace: str = ""
    """The `traceparent` among its user properties."""


class LinkCounts(msgspec.Struct):
    """What happened since the link was made."""

    connections: int = 0
    sessions_lost: int = 0
    stale_acks: int = 0
    unreadable: int = 0
    """Messages that could not be read; acknowledged and passed over."""
    out_of_place: int = 0
    """Other packets that could not be read or that no MQTT server sends; passed over."""


_POLL_S = 0.002


async def was_taken(receipt: Outbound, within_s: float) -> bool:
    """Wait, so many seconds at most, until a publication is settled; whether the MQTT server took it by then."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while not receipt.done():  # noqa: ASYNC110 - receipts are polled by design
                await asyncio.sleep(_POLL_S)
    return receipt.done() and not receipt.failed()


class MqttLink(Giver, Protocol):
    """One client of the MQTT server: a persistent session, manual acknowledgement, reconnection.

    A lost connection fails every receipt not done and makes every message not acked stale: the owner publishes
    again, the MQTT server delivers again.
    """

    counts: LinkCounts

    @property
    def connected(self) -> bool:
        """Whether publishing is possible: connected and subscribed."""

    @property
    def deaf(self) -> bool:
        """Whether nothing is read, receipts neither, until messages that came are acknowledged."""

    @property
    def max_packet(self) -> int:
        """Largest packet in bytes that the MQTT server takes, header and properties included.

        What the last CONNACK said, before the first one and without a word of it `UNTOLD_MAX_PACKET`.
        """

    async def open(self) -> bool:
        """Connect and subscribe; return whether the MQTT server still had the session.

        Raises LinkConfigError and LinkRefusedError at once, LinkUnreachableError after `first_connection_s`.
        """

    def messages(self) -> AsyncIterator[InboundMessage]:
        """The messages, over all connections, until `close`; what nobody reads is not acked and comes again.

        Raises what ended the link, if it was not `close`: LinkTakenOverError, or what a callback raised.
        """

    def batches(self) -> AsyncIterator[Sequence[InboundMessage]]:
        """As `messages`, but all that came at once together; one iterator of either kind at a time."""

    async def ack(self, messages: Sequence[InboundMessage]) -> None:
        """Acknowledge `messages`, given in arrival order; one of an earlier connection is dropped and counted."""

    def ack_now(self, messages: Sequence[InboundMessage]) -> bool:
        """As `ack`, without waiting; false when the link cannot do that: nothing is acknowledged."""

    def hold(self) -> None:
        """Keep what is published and acknowledged from now on, until `flush`, which has to follow in the same turn."""

    def flush(self) -> None:
        """Send at once what was published and acknowledged in this turn of the event loop."""

    def on_receipts(self, callback: Callable[[], None]) -> bool:
        """Call back each time receipts were settled; false when the link does not tell: it is to be looked."""

    def on_session(self, callback: Callable[[bool], None], lost: Callable[[], None] | None = None) -> None:
        """Call `callback(session_present)` after each connection, the first included, once publishing is possible.

        And `lost()` after each loss of one, once publishing is impossible; not at `close`.
        """

    async def close(self, *, will: bool = False) -> None:
        """End the connection for good, without the will or (`will`) leaving it to be published. Idempotent."""
