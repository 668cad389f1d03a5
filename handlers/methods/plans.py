"""What is asked about plans: GetPlan, ListPlans, SteerPlan."""

from collections.abc import Iterable

from handlers.plans.rollout import spec_of
from handlers.plans.rows import RowState
from handlers.plans.states import Action, PlanKind, PlanState
from handlers.rpc.outcome import PlanQuery, PlansQuery, RolloutOrder, SteerOrder
from handlers.rpc.plain_params import integer, known_only, listed, plain_params, text
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED
from schema.errors import BrokerError

TOP = (1 << 63) - 1
PAGE, PAGE_MOST = 100, 500
PLANS, PLANS_MOST = 50, 500


def get_plan(_state: ArmState, request: Request) -> PlanQuery:
    """GetPlan: a plan and a page of its rows, or (`arm`) one of them.

    Raises:
        BrokerError: unknown_field, malformed, out_of_limits, unknown_enum.
    """
    params = plain_params(request)
    known_only(params, ("plan", "arm", "state", "after", "limit"))
    return PlanQuery(
        plan=_number(request),
        arm=text(params, "arm"),
        state=_word(request, "state", RowState),
        after=text(params, "after"),
        limit=integer(params, "limit", PAGE, PAGE_MOST, 1),
    )


def list_plans(_state: ArmState, request: Request) -> PlansQuery:
    """ListPlans: plans, newest first.

    Raises:
        BrokerError: unknown_field, malformed, out_of_limits, unknown_enum.
    """
    params = plain_params(request)
    known_only(params, ("state", "kind", "user", "before", "limit"))
    return PlansQuery(
        state=_word(request, "state", PlanState),
        kind=_word(request, "kind", PlanKind),
        user=text(params, "user"),
        before=integer(params, "before", TOP, TOP, 1),
        limit=integer(params, "limit", PLANS, PLANS_MOST, 1),
    )


def steer_plan(_state: ArmState, request: Request) -> SteerOrder:
    """SteerPlan: pause, resume, abort, reverse, approve or reject a plan.

    Raises:
        BrokerError: unknown_field, malformed, out_of_limits, unknown_enum.
    """
    params = plain_params(request)
    known_only(params, ("plan", "action", "reason", "digest"))
    if "action" not in params:
        raise BrokerError("malformed", f"params.action: it is needed: {', '.join(Action)}. {NOTHING_CHANGED}")
    return SteerOrder(
        plan=_number(request),
        action=_word(request, "action", Action),
        reason=text(params, "reason") or request.envelope.reason,
        digest=text(params, "digest"),
    )


def rollout(_state: ArmState, request: Request) -> RolloutOrder:
    """Rollout: a method for the arms of a group, wave after wave.

    Raises:
        BrokerError: as `spec_of`; malformed without a method.
    """
    params = dict(plain_params(request))
    spec_of(params)
    method, inner = text(params, "method"), params.get("params", {})
    if not method or not isinstance(inner, dict):
        raise BrokerError("malformed", f"params.method, params.params: a method and its params. {NOTHING_CHANGED}")
    return RolloutOrder(method, inner, params)


def _number(request: Request) -> int:
    params = plain_params(request)
    if "plan" not in params:
        raise BrokerError("malformed", f"params.plan: the number of a plan is needed. {NOTHING_CHANGED}")
    return integer(params, "plan", 0, TOP, 1)


def _word(request: Request, key: str, known: Iterable[str]) -> str:
    params, words = plain_params(request), tuple(known)
    word = text(params, key)
    if key in params and word not in words:
        raise BrokerError(
            "unknown_enum", f"params.{key}: {word[:60]!r} is none of {listed(word, words)}. {NOTHING_CHANGED}"
        )
    return word
