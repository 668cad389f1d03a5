"""One message on its way through the acceptor."""

from hashlib import blake2b

import msgspec

from broker.accept.intake import Ticket
from broker.arms.jobs import Address
from broker.link.mqtt_link import InboundMessage
from broker.topics import NAMES, RequestTopic, Topics, is_group
from handlers.rpc.row import Access, Rpc
from schema.codecs import CODECS, codec_for, taken_back
from schema.codecs.codec import Codec
from schema.codecs.large import Lifted
from schema.envelope import LISTS_LIMIT, PAYLOAD_LIMIT, GroupOptions, RequestEnvelope, Warned
from schema.errors import BrokerError
from schema.messages import Message

NO_LEAF = "_"
_WRITE = Access.WRITE
"""A name of its own, as others further on: to ask an enum for a member costs ten times as much."""
NO_ENVELOPE = RequestEnvelope()
_LONGEST_QUOTE = 64
_CORRELATION_AS_ID = range(16, 33)
"""Lengths of Correlation Data that serve as an id."""
_fingerprint_encoder = msgspec.msgpack.Encoder(order="deterministic")
_large_encoder = msgspec.json.Encoder(order="deterministic")
"""As the above, for integers of more than 64 bits."""
_GROUP_MEANS = tuple(name for name in GroupOptions.__struct_fields__ if name != "away_named")


class Arrival(msgspec.Struct, eq=False):
    """What is known of a message so far; filled in the order of the checks.

    What was wrong with it holds the frames that found it, and these hold it, until it is `let_go`.
    """

    message: InboundMessage
    topic: RequestTopic
    at_us: int
    codec: Codec
    """Before it is decoded that of the Content Type if known, else JSON."""
    rpc: Rpc | None = None
    envelope: RequestEnvelope = NO_ENVELOPE
    params: Message | dict[str, object] | None = None
    params_error: BrokerError | None = None
    id: str = ""
    size: int = 0
    """Bytes of its payload."""
    told_id: str = ""
    """What a refused id reads like."""
    now_s: float = 0.0
    """When it was looked at, on the clock of `InboundMessage.received_s`."""
    checked_only: bool = False
    """Whether a write is only checked, whatever it says of a dry run."""
    age_unknown: str = ""
    """Why nobody knows how old it is; empty if that is known, or was not asked."""
    warnings: list[Warned] = []
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
    wrong: Exception | None = None
    """Whether it was decoded, and what was wrong."""
    remembered: bool = False
    """Whether the outcome is kept under the id: writes, and whatever cannot be told to be a read."""
    key: int = 0
    """What its id will be found by in the store, while nothing is sure to have it; 0: it has to be looked for."""
    timed: bool = False
    """Whether something of it tells when it was issued, or when it expires."""

    @property
    def shown_id(self) -> str:
        """The id that a refusal names."""
        return self.id or self.told_id

    def let_go(self) -> None:
        """It is answered: let its bytes go with the last who needs them, without a collection of garbage."""
        for error in (self.wrong, self.params_error):
            if error is not None:  # the frames that raised it hold it, too
                error.__traceback__ = error.__context__ = None
        self.wrong = self.params_error = None

    def fingerprint(self) -> bytes:
        """What makes a repeat the same request: arm, method, params and what changes their meaning; else the bytes."""
        if self.params is None:
            content = self.message.payload
        else:
            envelope = self.envelope
            kept: tuple[object, ...] = (self.params, envelope.if_rev, envelope.valid_for_ms or 0)
            if envelope.until_us is not None or envelope.when or envelope.group is not None:
                kept = (*kept, envelope.until_us, envelope.when, _meaning_of(envelope.group))
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
            topic = topics.replies[self.topic.user, self.topic.conn] + (self.id or NO_LEAF)
            given = wanted or message.blank_response
            if given and not any(warned.name == "RESPONSE_TOPIC_IGNORED" for warned in self.warnings):
                text = f"Response Topic {wanted[:_LONGEST_QUOTE]!r} is none of yours; the reply went to {topic}"
                self.warnings.append(Warned("RESPONSE_TOPIC_IGNORED", text))
        self.replied_as = self.id
        self.reply_to = Address(
            topic, message.correlation, self.codec.name, self.topic.user, message.trace, message.received_s
        )
        return self.reply_to


def _meaning_of(group: GroupOptions | None) -> dict[str, object] | None:
    """What the options of a group come to, however they were said."""
    return None if group is None else {name: getattr(group, name) for name in _GROUP_MEANS}


def decode(arrival: Arrival) -> None:
    """As `try_decoding`.

    Raises:
        BrokerError: the first thing that is wrong, each time; wrong params are kept for later instead.
    """
    try_decoding(arrival)
    if arrival.wrong is not None:
        raise arrival.wrong


def try_decoding(arrival: Arrival) -> None:
    """Decode, once: size, retain flag, arm level, codec, envelope, id and params, in this order.

    The first of them that is wrong is kept as `wrong`. The id is taken all the same whenever the envelope can be
    decoded.
    """
    if arrival.tried:
        return
    arrival.tried = True
    rpc = arrival.rpc
    writes = rpc is None or rpc.access is _WRITE
    try:
        _decode(arrival)
    except Exception as error:  # noqa: BLE001 - told when it is decided
        arrival.wrong = error
    envelope, expiry_s = arrival.envelope, arrival.message.expiry_s
    arrival.remembered = writes and arrival.id != "" and not envelope.dry_run
    if (
        envelope.issued_at_us is not None
        or envelope.ttl_ms
        or envelope.when
        or expiry_s is not None
        or (rpc is not None and rpc.ttl_ms)
    ):
        arrival.timed = True


def _decode(arrival: Arrival) -> None:
    message, rpc = arrival.message, arrival.rpc
    payload = message.payload
    size = len(payload)
    if size > PAYLOAD_LIMIT and (rpc is None or not rpc.lists or size > LISTS_LIMIT):
        most = LISTS_LIMIT if rpc is not None and rpc.lists else PAYLOAD_LIMIT
        raise BrokerError("too_large", f"payload: {size} bytes, at most {most}")
    wrong = _wrong_before_envelope(arrival) if message.retain or not NAMES[arrival.topic.arm] else None
    try:
        if message.content_type not in CODECS and (message.content_type or payload[:1] != b"{"):
            arrival.codec = codec_for(message.content_type, payload)
        codec = arrival.codec
        whole = None
        if rpc is not None and rpc.request is not None and size <= PAYLOAD_LIMIT:
            whole = codec.decode_whole(payload, rpc.request)
        if whole is None:
            _decode_strictly(arrival)
        else:  # nothing is unusual
            arrival.envelope, arrival.params = whole
            arrival.id = arrival.envelope.id
    except BrokerError as error:
        raise wrong or error from None
    if not arrival.id and len(message.correlation) in _CORRELATION_AS_ID:
        arrival.id = message.correlation.hex()
    if wrong is not None:
        raise wrong
    if not arrival.id and rpc is not None and rpc.access is _WRITE and not arrival.envelope.dry_run:
        raise BrokerError("id_missing", "id: a write needs one, or Correlation Data of 16 to 32 bytes")


def _wrong_before_envelope(arrival: Arrival) -> BrokerError | None:
    """What shows before anything that is wrong with the envelope: the retain flag, then the arm level."""
    if arrival.message.retain:
        return BrokerError("retained_request", "the request was published with the retain flag; nothing was done")
    arm = arrival.topic.arm
    if (arrival.rpc is not None and arrival.rpc.any_arm) or is_group(arm):
        return None
    what = "@<group>" if arm.startswith("@") else "arm id"
    return BrokerError("bad_arm_id", f"arm {arm[:_LONGEST_QUOTE]!r}: no {what} ([A-Za-z0-9][A-Za-z0-9._-]{{0,62}})")


def _decode_strictly(arrival: Arrival) -> None:
    message = arrival.message
    lifted = _lifted(arrival)
    try:
        arrival.envelope = envelope = arrival.codec.decode_request(lifted.payload)
    except BrokerError as error:
        payload = message.payload
        arrival.codec, refusal = taken_back(message.content_type, arrival.codec, payload, error)
        arrival.id, arrival.told_id = refusal.bare_id, refusal.told_id
        raise refusal from None
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
