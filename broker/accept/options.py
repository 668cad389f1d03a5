"""The options of a request beside its params: whether its method takes them, and this version serves them."""

from broker.accept.arrival import Arrival
from broker.settings import Users
from handlers.rpc.row import Address, Option, Rpc
from handlers.rpc_table import OPTIONS
from handlers.state.refusals import NOTHING_CHANGED
from schema.codecs.envelope import TTL_LIMIT_MS, VALID_FOR_MS
from schema.envelope import When
from schema.errors import BrokerError
from schema.features import FEATURES

ROLLOUT = "Rollout"


EXTEND = "ExtendOverride"
"""The method whose params may name an end as a time."""


def check_options(arrival: Arrival, rpc: Rpc, users: Users, *, of_group: bool = False) -> None:
    """Refuse options that the method does not take, or this version does not serve, and a unit that is not its own.

    `of_group`: whether it is asked of a group.

    Raises:
        BrokerError: unsupported_option, bad_request_field, unimplemented, unit_mismatch.
    """
    envelope = arrival.envelope
    if envelope.ends:
        name = "valid_for_ms" if envelope.until_us is None else "until"
        _check_taken(rpc, Option.END, name)
        _check_end(arrival, users)
        _check_served(name, "override")
    if rpc.name == EXTEND and isinstance(arrival.params, dict) and "until" in arrival.params:
        _check_clock("params.until", arrival, users)
    if envelope.when is When.IDLE:
        _check_taken(rpc, Option.IDLE, "when")
        _check_served("when", "idle")
    elif envelope.ttl_ms is not None and envelope.ttl_ms > TTL_LIMIT_MS:
        raise BrokerError("bad_request_field", f"ttl_ms: {envelope.ttl_ms} ms is not between 1 and {TTL_LIMIT_MS}")
    if envelope.group is not None:
        _check_group(rpc, of_group=of_group)
    if envelope.unit and envelope.unit != rpc.unit:
        has = rpc.unit or "none of deg and rad"
        raise BrokerError("unit_mismatch", f"unit: {envelope.unit!r} is asserted, {rpc.name} has {has}")


def _check_group(rpc: Rpc, *, of_group: bool) -> None:
    """Refuse what says how a group is changed where none is."""
    if of_group and rpc.name == ROLLOUT:
        return
    if not of_group or Address.ROWS not in rpc.address:
        why = "gives one answer for it" if of_group else "is asked of one arm, no group"
        raise BrokerError("unsupported_option", f"group: {rpc.name} {why}. {NOTHING_CHANGED}")


def _check_taken(rpc: Rpc, option: Option, name: str) -> None:
    if rpc.name not in OPTIONS[option]:
        raise BrokerError("unsupported_option", f"{name}: {rpc.name} does not take it. {NOTHING_CHANGED}")


def _check_served(name: str, feature: str) -> None:
    if feature not in FEATURES:
        raise BrokerError("unimplemented", f"{name} is described, and not served by this version. {NOTHING_CHANGED}")


def _check_end(arrival: Arrival, users: Users) -> None:
    """Refuse an end that is named twice, by a client without a clock, or too near or far."""
    envelope, until_us = arrival.envelope, arrival.envelope.until_us
    if until_us is None:
        return
    if envelope.valid_for_ms is not None:
        raise BrokerError("bad_request_field", f"until, valid_for_ms: one of them names the end. {NOTHING_CHANGED}")
    _check_clock("until", arrival, users)
    low, high = VALID_FOR_MS
    ahead_ms = (until_us - arrival.at_us) / 1_000
    if not low <= ahead_ms <= high:
        text = f"until: {ahead_ms / 1_000:.3f} s ahead, it has to be 1 s to {high // 86_400_000} d. {NOTHING_CHANGED}"
        raise BrokerError("bad_request_field", text)


def _check_clock(name: str, arrival: Arrival, users: Users) -> None:
    """Refuse an end as a time of a client that has no clock."""
    user = arrival.topic.user
    if not users.has_clock(user):
        text = f"{name}: {user} has no clock, by the settings; valid_for_ms says it without. {NOTHING_CHANGED}"
        raise BrokerError("bad_request_field", text)
