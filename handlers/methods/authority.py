"""How far the service may go with an arm, and the lock on it: SetAuthority, HoldArm, ReleaseArm, what they bar."""

from collections.abc import Mapping

from handlers.batch.decide import preview
from handlers.items.config_items import kept_by_service
from handlers.methods.pending import waiting_warnings
from handlers.rpc.outcome import (
    Answer,
    AuthorityOrder,
    BatchProposal,
    HoldOrder,
    Outcome,
    Proposal,
    ReleaseOrder,
)
from handlers.rpc.plain_params import known_only, listed, plain_params, text
from handlers.rpc.request import Request
from handlers.rpc.row import Guard, Rpc
from handlers.state.arm_state import ArmState, Hold
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Authority
from schema.codecs.envelope import check_reason
from schema.codecs.faults import FaultError
from schema.codecs.times import format_time, parse_time
from schema.envelope import Stage, Warned
from schema.errors import BrokerError
from schema.messages import Empty

AUTHORITIES = tuple(Authority)


def set_authority(state: ArmState, request: Request) -> AuthorityOrder:
    """SetAuthority: `authority` is observe, advise or control, up to that of the settings; `reason` may say why.

    Raises:
        BrokerError: unknown_enum, malformed, bad_request_field; not_permitted above what the settings name.
    """
    params = plain_params(request)
    known_only(params, ("authority", "reason"))
    name = text(params, "authority")
    if name not in AUTHORITIES:
        known = listed(name, AUTHORITIES)
        raise BrokerError("unknown_enum", f"params.authority: {name[:60]!r} is none of {known}. {NOTHING_CHANGED}")
    if not is_within(Authority(name), state.ceiling):
        what = f"params.authority: {name} is above {state.ceiling}, which the settings name for {state.arm}"
        raise BrokerError("not_permitted", f"{what}. {NOTHING_CHANGED}")
    return AuthorityOrder(Authority(name), _reason(params) or request.envelope.reason)


def is_within(authority: Authority, ceiling: Authority) -> bool:
    """Whether an authority goes no further than another."""
    return AUTHORITIES.index(authority) <= AUTHORITIES.index(ceiling)


def hold_arm(state: ArmState, request: Request) -> HoldOrder:
    """HoldArm: `reason` is needed, `until` may give the end, the longest there is without; may be sent again.

    Raises:
        BrokerError: malformed, unknown_field, bad_request_field; out_of_limits for an end.
    """
    params = plain_params(request)
    known_only(params, ("reason", "until"))
    reason = _reason(params) or request.envelope.reason
    if not reason.strip():
        raise BrokerError("malformed", f"params.reason: a reason is needed. {NOTHING_CHANGED}")
    return HoldOrder(reason, _until_us(params, request.at_us, state.longest_hold_us))


def release_arm(state: ArmState, request: Request) -> ReleaseOrder:
    """ReleaseArm: end the lock; there has to be one.

    Raises:
        BrokerError: unknown_field; revision_conflict where nobody holds the arm.
    """
    known_only(plain_params(request), ())
    if state.hold is None:
        why = f"nobody holds {state.arm}, there is nothing to release. {NOTHING_CHANGED}"
        raise BrokerError("revision_conflict", why)
    return ReleaseOrder()


def barring(state: ArmState, user: str, now_us: int) -> Hold | None:
    """The lock on the arm, if it bars the writes of this user; one whose end is reached bars nobody."""
    hold = state.hold
    if hold is None or hold.by.user == user or 0 < hold.until_us <= now_us:
        return None
    return hold


def check_hold(state: ArmState, user: str, now_us: int) -> None:
    """Refuse a write of anybody but the holder.

    Raises:
        BrokerError: held.
    """
    if (hold := barring(state, user, now_us)) is not None:
        raise locked_by(state, hold)


def locked_by(state: ArmState, hold: Hold) -> BrokerError:
    """The refusal that a lock gives: who, since when, until when, why."""
    who = hold.by.user if hold.by.proven else f"{hold.by.user} (not proven)"
    end = f" until {format_time(hold.until_us)}" if hold.until_us else ""
    since = format_time(hold.since_us)
    return BrokerError("held", f"{state.arm} is held by {who} since {since}{end}: {hold.reason}. {NOTHING_CHANGED}")


def below_control(state: ArmState) -> BrokerError:
    """Why nothing is written to an arm that is not controlled."""
    return BrokerError("held", f"the authority over {state.arm} is {state.authority}. {NOTHING_CHANGED}")


def is_checked_only(state: ArmState, rpc: Rpc) -> bool:
    """Whether a write is answered with what would come of it, whatever it says of a dry run."""
    return rpc.guard is Guard.AUTHORITY and state.authority is not Authority.CONTROL


def checked(state: ArmState, rpc: Rpc, outcome: Outcome) -> Answer:
    """The answer of a dry run, or of a write below control: it would have been accepted."""
    warnings = outcome.warnings if isinstance(outcome, Proposal | BatchProposal) else ()
    if is_checked_only(state, rpc):
        warnings = (*warnings, _told(state, outcome))
    elif not _in_force_at_once(state, outcome):
        warnings += waiting_warnings(state)
    if isinstance(outcome, BatchProposal):
        return Answer(preview(state, outcome), Stage.CHECKED, warnings)
    return Answer(Empty() if rpc.reply is not None else {}, Stage.CHECKED, warnings)


def _in_force_at_once(state: ArmState, outcome: Outcome) -> bool:
    """Whether what is asked needs no arm."""
    if isinstance(outcome, BatchProposal):
        return all(kept_by_service(state, step.slot[0]) for step in outcome.steps)
    return not isinstance(outcome, Proposal) or kept_by_service(state, outcome.slot[0])


def hold_document(hold: Hold) -> dict[str, object]:
    """How presence and factsheet show a lock."""
    by = {"user": hold.by.user, "connection": hold.by.connection, "proven": hold.by.proven}
    document: dict[str, object] = {"by": by, "reason": hold.reason, "since": format_time(hold.since_us)}
    if hold.until_us:
        document["until"] = format_time(hold.until_us)
    return document


def _told(state: ArmState, outcome: Outcome) -> Warned:
    if state.authority is Authority.ADVISE:
        return Warned("ADVISED", f"the authority over {state.arm} is advise: this was a dry run, nothing was written")
    return Warned("OBSERVED", f"{state.arm} is only observed, nothing was written: {_foreseen(state, outcome)}")


def _foreseen(state: ArmState, outcome: Outcome) -> str:
    """What would have come of a write, in words."""
    if not isinstance(outcome, Proposal | BatchProposal):
        return "the request would be carried out"
    if outcome.unchanged:
        return "the change would leave the value unchanged"
    direction = "loosening" if outcome.loosening else "tightening"
    if _in_force_at_once(state, outcome):
        return f"the change would be in force at once, as a {direction}"
    if state.distrust:
        return f"the change would wait, as a {direction}: {state.arm} is held"
    if not state.online:
        return f"the change would wait, as a {direction}: {state.arm} is not connected"
    if not state.ready:
        return f"the change would wait, as a {direction}: {state.arm} takes no change now"
    return f"the change would be written as a {direction}"


def _reason(params: Mapping[str, object]) -> str:
    """The reason among the params, as the one of a request."""
    try:
        return check_reason(text(params, "reason"))
    except FaultError as fault:
        raise fault.as_refusal("params.reason") from None


def _until_us(params: Mapping[str, object], now_us: int, longest_us: int) -> int:
    """When a lock ends, µs since 1970: after the longest time there is where the params do not say."""
    if "until" not in params:
        return now_us + longest_us
    until = text(params, "until")
    try:
        until_us = parse_time(until)
    except ValueError as error:
        raise BrokerError("malformed", f"params.until: {until[:60]!r}: {error}. {NOTHING_CHANGED}") from None
    if until_us <= now_us:
        what = f"params.until: {until} is not after {format_time(now_us)}. {NOTHING_CHANGED}"
        raise BrokerError("out_of_limits", what, name="VALUE_IS_BELOW_MINIMUM")
    if until_us > now_us + longest_us:
        last = f"{format_time(now_us + longest_us)}, when the longest lock ends ({longest_us / 3_600_000_000:g} h)"
        what = f"params.until: {until} is after {last}. {NOTHING_CHANGED}"
        raise BrokerError("out_of_limits", what, name="VALUE_IS_ABOVE_MAXIMUM")
    return until_us
