"""The checks between the envelope and the handler, in the order of the protocol."""

from broker.accept.arrival import Arrival
from broker.arms.arm_session import ArmSession
from broker.settings import Settings
from handlers.authority import check_hold, is_checked_only
from handlers.items import check_room
from handlers.request import Request
from handlers.rpc import Access, Guard, Rpc
from schema.errors import BrokerError

AHEAD_US = 5_000_000
"""How far issued_at may lie ahead of the service."""
_MILLI = 1_000
VALUE_KINDS = frozenset({"not_finite", "unknown_enum"})
"""What is wrong with values, not with the form of params: it shows first among the checks of the item."""


def deadline_us(arrival: Arrival, settings: Settings) -> int:
    """When the request expires, service time in µs; 0 = never.

    Raises:
        BrokerError: issued_in_future, expired.
    """
    envelope, rpc = arrival.envelope, arrival.rpc
    client = settings.clients.get(arrival.topic.user)
    issued_us = None if client is not None and client.clock == "none" else envelope.issued_at_us
    if issued_us is not None and issued_us > arrival.at_us + AHEAD_US:
        ahead = (issued_us - arrival.at_us) / 1e6
        raise BrokerError("issued_in_future", f"issued_at: {ahead:.1f} s ahead of the service, at most 5")
    ttl_ms = envelope.ttl_ms
    if ttl_ms is None and arrival.message.expiry_s is not None:
        return _after(arrival, arrival.at_us, arrival.message.expiry_s * 1000)
    if ttl_ms is None and rpc is not None:
        ttl_ms = rpc.ttl_ms
    if not ttl_ms:
        return 0
    return _after(arrival, arrival.at_us if issued_us is None else issued_us, ttl_ms)


def _after(arrival: Arrival, start_us: int, ttl_ms: int) -> int:
    end_us = start_us + ttl_ms * _MILLI
    if end_us <= arrival.at_us:
        late = (arrival.at_us - end_us) / 1e6
        raise BrokerError("expired", f"ttl_ms: {ttl_ms} ms were over {late:.3f} s before the request was looked at")
    return end_us


def method_of(arrival: Arrival, session: ArmSession | None) -> Rpc:
    """The row of the method, if the arm exists and can do it, and the params could be decoded.

    Raises:
        BrokerError: unknown_arm, unknown_method, or what is wrong with the params.
    """
    rpc, topic = arrival.rpc, arrival.topic
    if session is None and not (rpc is not None and rpc.any_arm):
        raise BrokerError("unknown_arm", f"no arm {topic.arm} is registered")
    if rpc is None:
        raise BrokerError("unknown_method", f"no method {topic.method[:64]!r}; names are compared byte for byte")
    if session is not None and rpc.name not in session.state.methods and not rpc.any_arm:
        raise BrokerError("unknown_method", f"{topic.arm} cannot do {rpc.name}")
    if arrival.params_error is not None and arrival.params_error.kind not in VALUE_KINDS:
        raise arrival.params_error
    return rpc


def check_options(arrival: Arrival, rpc: Rpc) -> None:
    """Refuse options that do not exist yet, and a unit that is not the method's.

    Raises:
        BrokerError: unsupported_option, unit_mismatch.
    """
    envelope = arrival.envelope
    if envelope.valid_for_ms is not None:
        raise BrokerError("unsupported_option", "valid_for_ms: timed overrides do not exist yet")
    if envelope.unit and envelope.unit != rpc.unit:
        has = rpc.unit or "none of deg and rad"
        raise BrokerError("unit_mismatch", f"unit: {envelope.unit!r} is asserted, {rpc.name} has {has}")


def check_policy(arrival: Arrival, rpc: Rpc, settings: Settings) -> None:
    """Refuse a write of a user that has no grant for the arm.

    Raises:
        BrokerError: not_permitted.
    """
    client = settings.clients.get(arrival.topic.user)
    if rpc.access is not Access.WRITE or client is None or client.arms is None:
        return
    if arrival.topic.arm not in client.arms:
        raise BrokerError("not_permitted", f"{arrival.topic.user} may not change {arrival.topic.arm}")


def only_checked(arrival: Arrival, session: ArmSession | None) -> bool:
    """Whether the request is a write that the authority over its arm lets be checked only."""
    return session is not None and arrival.rpc is not None and is_checked_only(session.state, arrival.rpc)


def check_lock(arrival: Arrival, rpc: Rpc, session: ArmSession | None) -> None:
    """Refuse a write while another user holds the arm.

    Raises:
        BrokerError: held.
    """
    if rpc.guard is not Guard.NONE and session is not None:
        check_hold(session.state, arrival.topic.user, arrival.at_us)


def check_values(arrival: Arrival, rpc: Rpc, session: ArmSession | None) -> None:
    """Refuse params whose form is right but that hold values which cannot be; a full queue shows before them.

    Raises:
        BrokerError: busy, or what is wrong with the values.
    """
    if arrival.params_error is None:
        return
    if session is not None and rpc.access is Access.WRITE and rpc.item:
        check_room(session.state)
    raise arrival.params_error


def request_of(arrival: Arrival, settings: Settings) -> Request:
    """The request as the handlers see it."""
    topic = arrival.topic
    return Request(
        user=topic.user,
        conn=topic.conn,
        arm=topic.arm,
        method=topic.method,
        envelope=arrival.envelope,
        params=arrival.params if arrival.params is not None else {},
        id=arrival.id,
        at_us=arrival.at_us,
        codec=arrival.codec.name,
        size=len(arrival.message.payload),
        identity=settings.mqtt.identity,
    )
