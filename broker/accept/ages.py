"""How old a request is, where the service's clock, the machine's and the client's may differ."""

import msgspec

from broker.accept.arrival import Arrival
from broker.accept.waiting import AHEAD_US, IDLE_TTL_MS, deadline_us
from broker.clock import OK, Clock
from broker.settings import Users
from handlers.rpc.outcome import BatchProposal, Change, Restoration
from handlers.state.refusals import NOTHING_CHANGED
from schema.errors import BrokerError

LONGEST_TTL_US = 300_000_000
_MILLI = 1_000
_MODE = "control_mode"


def expiry_us(arrival: Arrival, users: Users, clock: Clock) -> int:
    """When the request expires, service time in µs; 0 = never.

    Raises:
        BrokerError: issued_in_future, expired.
    """
    place_in_time(arrival, users, clock)
    return deadline_us(arrival, users)


def place_in_time(arrival: Arrival, users: Users, clock: Clock) -> None:
    """Let `issued_at` be a service time; where nobody can say which, the request is of unknown age.

    A client's clock agrees with the machine's or with service time, or with neither: while the machine's clock is not
    believed, a request is as young as either of them makes it, if that is within its time to live.
    """
    issued_us, at_us = arrival.envelope.issued_at_us, arrival.at_us
    if issued_us is None or not users.has_clock(arrival.topic.user):
        return
    lead_us = at_us - clock.wall_us()
    if clock.state is OK:
        if lead_us > 0:
            _issued(arrival, issued_us + lead_us)
        return
    rpc, ttl_ms = arrival.rpc, arrival.envelope.ttl_ms
    if ttl_ms is None and rpc is not None:
        ttl_ms = IDLE_TTL_MS if arrival.envelope.when else rpc.ttl_ms
    longest_us = ttl_ms * _MILLI if ttl_ms else LONGEST_TTL_US
    for age_us in (at_us - issued_us, at_us - lead_us - issued_us):
        if -AHEAD_US <= age_us <= longest_us:
            _issued(arrival, at_us - age_us)
            return
    _issued(arrival, None)
    told = clock.told
    arrival.age_unknown = f"the service's clock is {told.state} by {told.seconds} s, so that nobody knows how old it is"


def _issued(arrival: Arrival, issued_us: int | None) -> None:
    arrival.envelope = msgspec.structs.replace(arrival.envelope, issued_at_us=issued_us)


def check_age(arrival: Arrival, wanted: Change) -> None:
    """Refuse what must not be old and may be.

    Raises:
        BrokerError: expired.
    """
    if not arrival.age_unknown:
        return
    mode = not isinstance(wanted, Restoration | BatchProposal) and wanted.slot[0] == _MODE
    if isinstance(wanted, Restoration) or wanted.loosening or mode:
        raise BrokerError("expired", f"issued_at: {arrival.age_unknown}. {NOTHING_CHANGED}")
