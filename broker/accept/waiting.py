"""How long a request may have waited, and what is no longer done for it then."""

import math

from broker.accept.arrival import Arrival
from broker.settings import Settings, Users
from handlers.rpc.outcome import (
    ArmOrder,
    AuthorityOrder,
    BatchProposal,
    ConfirmOrder,
    EndOrder,
    ExtendOrder,
    Outcome,
    Proposal,
    ReleaseOrder,
    Restoration,
)
from handlers.state.arm_state import ArmState
from schema.arms import Authority
from schema.errors import BrokerError

AHEAD_US = 5_000_000
"""How far issued_at may lie ahead of the service."""
YOUNG_S = 1.0
"""Of a request that waited for no longer nobody asks how old it is."""
IDLE_TTL_MS = 28_800_000
"""Time to live of a change that waits until its arm is idle and names none."""
CONTROL_MODE = "control_mode"
_AUTHORITIES = tuple(Authority)
_MILLI = 1_000
_MICRO = 1_000_000


def deadline_us(arrival: Arrival, users: Users) -> int:
    """When the request expires, service time in µs; 0 = never. What waited in our own queue counts from its receipt.

    Raises:
        BrokerError: issued_in_future, expired.
    """
    envelope, rpc, expiry_s = arrival.envelope, arrival.rpc, arrival.message.expiry_s
    issued_us = _issued_us(arrival, users)
    if issued_us is not None and issued_us > arrival.at_us + AHEAD_US:
        ahead = (issued_us - arrival.at_us) / _MICRO
        raise BrokerError("issued_in_future", f"issued_at: {ahead:.1f} s ahead of the service, at most 5")
    if rpc is not None and rpc.ttl_ms and not (envelope.dry_run or arrival.checked_only):
        _judge(arrival, users, 0.0)  # such a request is never without a time to live
    received_us = arrival.at_us - int(max(0.0, arrival.now_s - arrival.message.received_s) * _MICRO)
    if envelope.ttl_ms is None and expiry_s is not None:
        return _after(arrival, received_us, expiry_s * 1000)
    ttl_ms = envelope.ttl_ms or (rpc.ttl_ms if rpc is not None else 0)
    if not ttl_ms:
        if not envelope.when:
            return 0
        ttl_ms = IDLE_TTL_MS
    return _after(arrival, received_us if issued_us is None else issued_us, ttl_ms)


def _issued_us(arrival: Arrival, users: Users) -> int | None:
    """The issued_at of a user whose clock counts."""
    return arrival.envelope.issued_at_us if users.has_clock(arrival.topic.user) else None


def _after(arrival: Arrival, start_us: int, ttl_ms: int) -> int:
    end_us = start_us + ttl_ms * _MILLI
    if end_us <= arrival.at_us:
        late = (arrival.at_us - end_us) / _MICRO
        raise BrokerError("expired", f"ttl_ms: {ttl_ms} ms were over {late:.3f} s before the request was looked at")
    return end_us


def check_waiting(arrival: Arrival, settings: Settings, users: Users, state: ArmState, outcome: Outcome) -> None:
    """Refuse what would loosen, and modes, where the request may have waited for longer than it counts.

    What tightens is carried out however old it is.

    Raises:
        BrokerError: expired.
    """
    if _age_s(arrival) >= YOUNG_S and loosens(state, outcome):
        _judge(arrival, users, settings.arm_defaults.pending_max_age_us / _MICRO)


def _age_s(arrival: Arrival) -> float:
    """For how long the request may have waited; infinite where nobody knows."""
    message = arrival.message
    return arrival.now_s - (message.received_s if message.sent_after_s is None else message.sent_after_s)


def _judge(arrival: Arrival, users: Users, longest_s: float) -> None:
    """Refuse what may be too old; without a time to live that is longer than `longest_s`."""
    message, envelope, age_s = arrival.message, arrival.envelope, _age_s(arrival)
    if age_s < YOUNG_S:
        return
    issued_us, expiry_s = _issued_us(arrival, users), message.expiry_s
    ttl_ms = envelope.ttl_ms or (arrival.rpc.ttl_ms if arrival.rpc is not None else 0)
    if not ttl_ms and envelope.when:
        ttl_ms = IDLE_TTL_MS
    if issued_us is not None:
        known_s = (arrival.at_us - issued_us) / _MICRO
        if not ttl_ms and expiry_s is None and known_s > longest_s:
            raise _expired(f"it was issued {known_s:.0f} s ago, and counts for {longest_s:.0f} s")
        return
    if expiry_s is not None and (envelope.ttl_ms is None or expiry_s * _MILLI < envelope.ttl_ms + _MILLI):
        return  # the MQTT server counted it down while the request waited
    counts_s = ttl_ms / _MILLI if ttl_ms else longest_s
    if age_s == math.inf:
        text = "the age is not known: it waited at the MQTT server"
        raise _expired(f"{text}, and nothing in it says since when (issued_at, or a Message Expiry within ttl_ms)")
    if age_s >= counts_s:
        raise _expired(f"it may have waited for {age_s:.1f} s, and counts for {counts_s:g} s")


def _expired(why: str) -> BrokerError:
    return BrokerError("expired", f"{why}. Nothing was changed; send it anew")


def loosens(state: ArmState, outcome: Outcome) -> bool:
    """Whether an outcome may loosen what holds for the arm, or changes its mode."""
    match outcome:
        case Proposal():
            return outcome.loosening or outcome.slot[0] == CONTROL_MODE
        case EndOrder() | ExtendOrder():
            return True
        case BatchProposal():
            return outcome.loosening
        case Restoration() | ConfirmOrder() | ArmOrder() | ReleaseOrder():
            return True
        case AuthorityOrder():
            return _AUTHORITIES.index(outcome.authority) > _AUTHORITIES.index(state.authority)
        case _:
            return False
