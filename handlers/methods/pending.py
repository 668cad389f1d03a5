"""What people decide about pending changes, and about an arm that is not the one that was known."""

from handlers.rpc.outcome import ArmOrder, ConfirmOrder, DiscardOrder
from handlers.rpc.plain_params import integer, known_only, plain_params, quoted
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED, distrusted_arm, not_read
from schema.envelope import Warned
from schema.errors import BrokerError

LARGEST_REV = (1 << 63) - 1
ALL = 0
"""Stands for every revision."""


def waiting_warnings(state: ArmState) -> tuple[Warned, ...]:
    """The warning of an accepted change whose arm cannot take it now."""
    if not state.online:
        return (Warned("DEVICE_DISCONNECTED", f"{state.arm} is not connected; the change goes out when it is back"),)
    if state.distrust:
        return (Warned("DEVICE_NOT_READY", f"{state.arm} is held: {state.distrust}; the change waits"),)
    if not state.ready:
        return (Warned("DEVICE_NOT_READY", f"{state.arm} takes no change now; it goes out when the arm is ready"),)
    return ()


def _named(request: Request) -> int:
    """The revision that a request names, or `ALL`.

    Raises:
        BrokerError: unknown_field, malformed, out_of_limits.
    """
    params = plain_params(request)
    known_only(params, ("rev", "all"))
    if ("rev" in params) == ("all" in params):
        raise BrokerError("malformed", "params: either rev or all: true is needed")
    if "rev" in params:
        return integer(params, "rev", ALL, LARGEST_REV, 1)
    if params["all"] is not True:
        raise BrokerError("malformed", f"params.all: only true is known, got {quoted(params['all'])}")
    return ALL


def _check_pending(state: ArmState, rev: int) -> None:
    if rev not in state.parked:
        known = ", ".join(map(str, sorted(state.parked))) or "none"
        text = f"params.rev: {rev} is not pending for {state.arm}; pending: {known}. {NOTHING_CHANGED}"
        raise BrokerError("revision_conflict", text)


def confirm_pending(state: ArmState, request: Request) -> ConfirmOrder:
    """ConfirmPending: changes that are held or wait for idle go to the queue, where they are checked again.

    Raises:
        BrokerError: as `_named`; revision_conflict for a revision that is not pending, or neither.
    """
    rev = _named(request)
    if rev:
        _check_pending(state, rev)
        if not state.parked[rev]:
            text = f"params.rev: {rev} is not held, it goes out when {state.arm} can take it. {NOTHING_CHANGED}"
            raise BrokerError("revision_conflict", text)
    return ConfirmOrder(rev)


def discard_pending(state: ArmState, request: Request) -> DiscardOrder:
    """DiscardPending: pending or held changes end without a write.

    Raises:
        BrokerError: as `_named`; revision_conflict for a revision that is not pending.
    """
    rev = _named(request)
    if rev:
        _check_pending(state, rev)
    return DiscardOrder(rev)


def confirm_arm(state: ArmState, request: Request) -> ArmOrder:
    """ConfirmArm: the arm that answers is adopted.

    Raises:
        BrokerError: arm_not_read; held: its limits cannot be used; revision_conflict: it is not held; arm_away.
    """
    known_only(plain_params(request), ())
    if state.unfit:
        raise distrusted_arm(state)
    if not state.adopted and not state.damaged:
        raise not_read(state)
    if not state.distrust:
        text = f"{state.arm} is not held, there is nothing to confirm. {NOTHING_CHANGED}"
        raise BrokerError("revision_conflict", text)
    if not state.online:
        raise BrokerError("arm_away", f"{state.arm} is not connected. {NOTHING_CHANGED}")
    return ArmOrder()
