"""One message on its way through the acceptor."""

from dataclasses import dataclass, field
from hashlib import blake2b

import msgspec

from broker.accept.acks import Ticket
from broker.arms.jobs import Address
from broker.link.mqtt_link import InboundMessage
from broker.topics import RequestTopic, Topics, is_group, is_name
from handlers.rpc.row import Access, Rpc
from schema.codecs import CODECS, codec_for, known_codec, taken_back
from schema.codecs.codec import Codec
from schema.codecs.large import Lifted
from schema.envelope import LISTS_LIMIT, PAYLOAD_LIMIT, RequestEnvelope, Warned
from schema.errors import BrokerError
from schema.messages import Message

NO_LEAF = "_"
NO_ENVELOPE = RequestEnvelope()
_LONGEST_QUOTE = 64
_CORRELATION_AS_ID = range(16, 33)
"""Lengths of Correlation Data that serve as an id."""
_fingerprint_encoder = msgspec.msgpack.Encoder(order="deterministic")
_large_encoder = msgspec.json.Encoder(order="deterministic")
"""As the above, for integers of more than 64 bits."""


@dataclass(slots=True)
class Arrival:
    """What is known of a message so far; filled in the order of the checks."""

    message: InboundMessage
    topic: RequestTopic
    at_us: int
    codec: Codec
    rpc: Rpc | None = None
    envelope: RequestEnvelope = NO_ENVELOPE
    decoded: bool = False
    params: Message | dict[str, object] | None = None
    params_error: BrokerError | None = None
    id: str = ""
    told_id: str = ""
    """What a refused id reads like."""
    now_s: float = 0.0
    """When it was looked at, on the clock of `InboundMessage.received_s`."""
    checked_only: bool = False
    """Whether a write is only checked, whatever it says of a dry run."""
    age_unknown: str = ""
    """Why nobody knows how old it is; empty if that is known, or was not asked."""
    warnings: list[Warned] = field(default_factory=list)
    ticket: Ticket | None = None
    """Its place in the order of acknowledgements."""
    cost: float = 1.0
    """What it takes of its user's share: an ordinary request 1, a long one more."""
    barred: BrokerError | None = None
    """Why it is refused unread."""
    tightens: bool | None = None
    """Whether it would tighten limits, where somebody looked."""
    exempt: bool = False
    """Whether it was taken beyond its user's rate, because it tightens."""
    tightened: bool = False
    """Whether it was accepted and tightens limits."""
    reply_to: Address | None = None
    replied_as: str = ""
    """Where the reply goes, as long as it has this id and codec."""
    tried: bool = False
    wrong: BrokerError | None = None
    """Whether it was decoded, and what was wrong."""

    @property
    def shown_id(self) -> str:
        """The id that a refusal names."""
        return self.id or self.told_id

    @property
    def remembered(self) -> bool:
        """Whether the outcome is kept under the id: writes, and whatever cannot be told to be a read."""
        if not self.id or self.envelope.dry_run or self.checked_only:
            return False
        return self.rpc is None or self.rpc.access is Access.WRITE

    def fingerprint(self) -> bytes:
        """What makes a repeat the same request: arm, method, params and what changes their meaning; else the bytes."""
        if self.params is None:
            content = self.message.payload
        else:
            envelope = self.envelope
            kept: tuple[object, ...] = (self.params, envelope.if_rev, envelope.valid_for_ms or 0)
            if envelope.until_us is not None or envelope.when or envelope.group is not None:
                kept = (*kept, envelope.until_us, envelope.when, envelope.group)
            try:
                content = _fingerprint_encoder.encode(kept)
            except OverflowError:
                content = _large_encoder.encode(kept)
        asked = self.message.topic if self.topic.cut else f"{self.topic.arm}/{self.topic.method}/"
        return blake2b(asked.encode() + content, digest_size=16).digest()

    def address(self, topics: Topics) -> Address:
        """Where the reply goes: the Response Topic if it is the user's, else the topic of the id."""
        known = self.reply_to
        if known is not None and self.replied_as == self.id and known.codec == self.codec.name:
            return known
        message = self.message
        wanted = topic = message.response_topic
        if not wanted or not topics.is_reply_of(wanted, self.topic.user):
            topic = topics.reply(self.topic.user, self.topic.conn, self.id or NO_LEAF)
            given = wanted or message.blank_response
            if given and not any(warned.name == "RESPONSE_TOPIC_IGNORED" for warned in self.warnings):
                text = f"Response Topic {wanted[:_LONGEST_QUOTE]!r} is none of yours; the reply went to {topic}"
                self.warnings.append(Warned("RESPONSE_TOPIC_IGNORED", text))
        self.replied_as = self.id
        self.reply_to = Address(
            topic, message.correlation, self.codec.name, self.topic.user, message.trace, message.received_s
        )
        return self.reply_to


def presumed_codec(content_type: str) -> Codec:
    """The codec for a reply to what may not be decodable: that of the Content Type if known, else JSON."""
    return known_codec(content_type) or CODECS["application/json"]


def decode_once(arrival: Arrival) -> None:
    """As `decode`; what was decoded before is not decoded again.

    Raises:
        BrokerError: as `decode`, each time.
    """
    if not arrival.tried:
        try:
            decode(arrival)
        except BrokerError as error:
            arrival.wrong = error
        arrival.tried = True
    if arrival.wrong is not None:
        raise arrival.wrong


def decode(arrival: Arrival) -> None:
    """Size, retain flag, arm level, codec, envelope, id and params, in this order.

    Raises:
        BrokerError: the first of them that is wrong; wrong params are kept for later instead. The id is taken all the
            same whenever the envelope can be decoded.
    """
    message = arrival.message
    most = LISTS_LIMIT if arrival.rpc is not None and arrival.rpc.lists else PAYLOAD_LIMIT
    if len(message.payload) > most:
        raise BrokerError("too_large", f"payload: {len(message.payload)} bytes, at most {most}")
    wrong = _wrong_before_envelope(arrival)
    try:
        _decode_envelope(arrival)
    except BrokerError as error:
        raise wrong or error from None
    if wrong is not None:
        raise wrong
    needs_id = arrival.rpc is not None and arrival.rpc.access is Access.WRITE and not arrival.envelope.dry_run
    if needs_id and not arrival.id:
        raise BrokerError("id_missing", "id: a write needs one, or Correlation Data of 16 to 32 bytes")


def _wrong_before_envelope(arrival: Arrival) -> BrokerError | None:
    """What shows before anything that is wrong with the envelope: the retain flag, then the arm level."""
    if arrival.message.retain:
        return BrokerError("retained_request", "the request was published with the retain flag; nothing was done")
    arm = arrival.topic.arm
    if arrival.rpc is not None and arrival.rpc.any_arm:
        return None
    if not is_name(arm) and not is_group(arm):
        what = "@<group>" if arm.startswith("@") else "arm id"
        text = f"arm {arm[:_LONGEST_QUOTE]!r}: no {what} ([A-Za-z0-9][A-Za-z0-9._-]{{0,62}})"
        return BrokerError("bad_arm_id", text)
    return None


def _decode_envelope(arrival: Arrival) -> None:
    message = arrival.message
    arrival.codec = codec_for(message.content_type, message.payload)
    if not _decode_whole(arrival):
        _decode_strictly(arrival)
    if not arrival.id and len(message.correlation) in _CORRELATION_AS_ID:
        arrival.id = message.correlation.hex()


def _decode_whole(arrival: Arrival) -> bool:
    """Decode envelope and params in one step, where nothing is unusual."""
    rpc, payload = arrival.rpc, arrival.message.payload
    if rpc is None or rpc.request is None or len(payload) > PAYLOAD_LIMIT:
        return False
    whole = arrival.codec.decode_whole(payload, rpc.request)
    if whole is None:
        return False
    arrival.envelope, arrival.params = whole
    arrival.id, arrival.decoded = arrival.envelope.id, True
    return True


def _decode_strictly(arrival: Arrival) -> None:
    message = arrival.message
    lifted = _lifted(arrival)
    try:
        arrival.envelope = envelope = arrival.codec.decode_request(lifted.payload)
    except BrokerError as error:
        payload = message.payload
        arrival.codec, refusal = taken_back(message.content_type, arrival.codec, payload, error)
        arrival.id, arrival.told_id = refusal.request_id, refusal.told_id
        raise refusal from None
    arrival.decoded = True
    arrival.id = envelope.id
    if envelope.padded:
        arrival.warnings.append(Warned("PADDED", "white space or NULs after the document were cut"))
    _decode_params(arrival, lifted.lists)


def _lifted(arrival: Arrival) -> Lifted:
    """The request without its long lists of numbers; as it is, where it is no longer than any other."""
    payload, rpc = arrival.message.payload, arrival.rpc
    if rpc is None or len(payload) <= PAYLOAD_LIMIT:
        return Lifted(payload, {})
    lifted = arrival.codec.lift(payload, rpc.lists)
    if len(lifted.payload) > PAYLOAD_LIMIT:
        beside = f" beside {', '.join(lifted.lists)}" if lifted.lists else ""
        text = f"payload: {len(lifted.payload)} bytes{beside}, at most {PAYLOAD_LIMIT}"
        raise BrokerError("too_large", text)
    return lifted


def _decode_params(arrival: Arrival, lists: dict[str, bytes]) -> None:
    rpc, codec = arrival.rpc, arrival.codec
    if rpc is None:
        return
    try:
        if rpc.request is None:
            params = codec.decode_plain_params(arrival.envelope.params)
            numbers = {name: codec.decode_numbers(part, name, rpc.lists[name]) for name, part in lists.items()}
            arrival.params = params | numbers
        else:
            arrival.params = arrival.codec.decode_params(arrival.envelope.params, rpc.request)
    except BrokerError as error:
        arrival.params_error = error
