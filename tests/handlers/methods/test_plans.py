from typing import Any

import pytest

from handlers.methods import plans
from handlers.rpc.outcome import PlanQuery, PlansQuery, RolloutOrder, SteerOrder
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.envelope import RequestEnvelope
from schema.errors import BrokerError

STATE = ArmState(arm="@all", adapter="", methods=frozenset(), resolution_rad=0.0)


def asked(params: dict[str, Any], reason: str = "") -> Request:
    return Request(
        user="u", conn="c", arm="@all", method="M", envelope=RequestEnvelope(reason=reason), params=params, id="1",
        at_us=1, codec="json", size=0, identity="none",
    )  # fmt: skip


def test_a_plan_is_asked_for_with_a_page_of_its_rows() -> None:
    assert plans.get_plan(STATE, asked({"plan": 3})) == PlanQuery(3, "", "", "", 100)
    every = {"plan": 3, "arm": "r1", "state": "applied", "after": "r0", "limit": 500}
    assert plans.get_plan(STATE, asked(every)) == PlanQuery(3, "r1", "applied", "r0", 500)


def test_plans_are_asked_for() -> None:
    assert plans.list_plans(STATE, asked({})) == PlansQuery("", "", "", plans.TOP, 50)
    every = {"state": "ended", "kind": "rollout", "user": "bob", "before": 9, "limit": 2}
    assert plans.list_plans(STATE, asked(every)) == PlansQuery("ended", "rollout", "bob", 9, 2)


def test_a_plan_is_steered_for_a_reason() -> None:
    params = {"plan": 3, "action": "pause", "digest": "d"}
    assert plans.steer_plan(STATE, asked(params, "of it")) == SteerOrder(3, "pause", "of it", "d")
    assert plans.steer_plan(STATE, asked({**params, "reason": "own"}, "of it")).reason == "own"


def test_a_rollout_names_its_method() -> None:
    params = {"method": "ApplyConfig", "params": {"items": {}}, "on_failure": "pause"}
    assert plans.rollout(STATE, asked(params)) == RolloutOrder("ApplyConfig", {"items": {}}, params)
    assert plans.rollout(STATE, asked({"method": "M", "on_failure": "pause"})).inner == {}


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        (plans.get_plan, {}, "malformed"),
        (plans.get_plan, {"plan": 0}, "out_of_limits"),
        (plans.get_plan, {"plan": 1, "state": "soon"}, "unknown_enum"),
        (plans.get_plan, {"plan": 1, "rows": 2}, "unknown_field"),
        (plans.get_plan, {"plan": 1, "limit": 501}, "out_of_limits"),
        (plans.list_plans, {"kind": ""}, "unknown_enum"),
        (plans.steer_plan, {"plan": 1}, "malformed"),
        (plans.steer_plan, {"plan": 1, "action": "stop"}, "unknown_enum"),
        (plans.rollout, {"method": "", "on_failure": "pause"}, "malformed"),
        (plans.rollout, {"method": "M", "params": [], "on_failure": "pause"}, "malformed"),
        (plans.rollout, {"method": "M"}, "malformed"),
    ],
)
def test_what_is_wrong_is_refused_by_name(method: Any, params: dict[str, Any], kind: str) -> None:
    with pytest.raises(BrokerError) as refused:
        method(STATE, asked(params))
    assert refused.value.kind == kind
