"""Params and results of the methods without a message."""

from broker.asyncapi.messages import ITEM, LIMIT, MODE
from broker.asyncapi.shapes import (
    ANY,
    FLAG,
    MAPPING,
    NAME,
    NULL,
    NUMBER,
    TEXT,
    TIME,
    Schema,
    either,
    listed,
    mapped,
    one_of,
    record,
    ref,
    whole,
)
from handlers.fleet.find_arms import FOUND_MOST, PRESENCES
from handlers.fleet.values import OPERATORS, VIEWS
from handlers.methods.compare import ROWS_MOST
from handlers.methods.overrides import DIRECTIONS
from handlers.methods.plans import PAGE_MOST, PLANS_MOST
from handlers.methods.queries import EVENTS_MOST, HISTORY_MOST
from handlers.methods.recipes import PAGE_MOST as LIST_MOST
from handlers.methods.simulation import FAULTS, LONGEST_MS
from handlers.methods.trajectory_check import VIOLATIONS_MOST
from handlers.plans.rollout import CANARY_MOST, DAY_MS, FAILED_MOST, WHOLE, Gate, OnFailure
from handlers.plans.rows import RowState
from handlers.plans.states import Action, PlanKind, PlanOutcome, PlanState
from limits.command import LimiterKind
from limits.ros2.arrays import INTERFACES
from limits.stack.joints import QUANTITIES
from schema.arms import Activity, Authority
from schema.codecs.envelope import VALID_FOR_MS
from schema.envelope import View
from schema.intrinsic import DynamicLimitsCheckMode

_NONE = record({})
_MODE = ref(MODE)
_CHECK_MODE = one_of(*(mode.name for mode in DynamicLimitsCheckMode))
_LIMITER = one_of(*(kind.value for kind in LimiterKind))
_LISTS = record({quantity: listed(either(NUMBER, NULL, ref(LIMIT))) for quantity in INTERFACES})
_ROWS = listed(listed(NUMBER))
_MOTION: dict[str, Schema] = {"joints": listed(TEXT), "mode": _MODE, "check_mode": _CHECK_MODE}
_MISSING = listed(MAPPING)
_SOURCE = record(
    {
        "arm": TEXT, "view": one_of(*(view.name.lower() for view in View)), "rev": whole(1), "recipe": TEXT,
        "version": whole(1), "items": MAPPING,
    }
)  # fmt: skip
_PATHS = listed(TEXT)
_OVERRIDES: dict[str, Schema] = {"rev": whole(1), "plan": whole(1), "all": {"const": True}}
_PENDING = record({"rev": whole(1), "all": {"const": True}})

_RECIPE: dict[str, Schema] = {
    "name": NAME, "version": whole(1), "models": listed(TEXT), "note": TEXT, "digest": TEXT, "by": MAPPING, "at": TIME,
}  # fmt: skip
_CONDITION = record(
    {
        "path": TEXT, "op": one_of(*OPERATORS), "than": {"type": ["number", "string", "boolean"]},
        "view": one_of(*VIEWS),
    },
    ("path", "op", "than"),
)  # fmt: skip
_PLAN_FIELDS: dict[str, Schema] = {
    "plan": whole(1), "kind": one_of(*PlanKind), "state": one_of(*PlanState), "outcome": one_of(*PlanOutcome),
    "why": TEXT, "by": MAPPING, "approved_by": TEXT, "request_id": TEXT, "target": TEXT, "method": TEXT,
    "digest": TEXT, "reason": TEXT, "at": TIME, "until": TIME, "expires": TIME, "ended_at": TIME, "wave": whole(),
    "waves": listed(MAPPING), "counts": mapped(whole()), "rows": listed(MAPPING), "more": FLAG,
}  # fmt: skip
_SUMMARY = record(_PLAN_FIELDS)
_PLAN = record({**_PLAN_FIELDS, "params": MAPPING}, ("plan", "kind", "state", "counts", "rows", "more"))

OF_ROWS = record(
    {
        "plan": whole(1), "state": TEXT, "outcome": TEXT, "counts": mapped(whole()), "rows": listed(MAPPING),
        "more": FLAG,
    },
    ("counts",),
)  # fmt: skip
"""Of each method that is done with each arm of a group, where it was sent to one."""

_DIFF = record(
    {
        "same": FLAG, "count": whole(), "differences": listed(MAPPING), "only_from": listed(TEXT),
        "only_to": listed(TEXT),
    },
    ("same", "count", "differences", "only_from", "only_to"),
)  # fmt: skip
_DIFF_OF_GROUP = record({"rows": listed(MAPPING), "counts": mapped(whole()), "more": FLAG}, ("rows", "counts", "more"))

PARAMS: dict[str, Schema] = {
    "Explain": record({"quantity": one_of(*QUANTITIES), "joint": TEXT, "mode": _MODE}),
    "CheckTrajectory": record(
        {
            "times": listed(NUMBER), "positions": _ROWS, "velocities": _ROWS, "accelerations": _ROWS, **_MOTION,
            "skip": whole(), "limit": whole(1, VIOLATIONS_MOST),
        },
        ("times", "positions"),
    ),
    "CheckCommand": record(
        {"limiter": _LIMITER, "state": _LISTS, "command": _LISTS, "dt": NUMBER, **_MOTION}, ("command", "dt")
    ),
    "GetHistory": record(
        {"after_rev": whole(), "before_rev": whole(), "item": ref(ITEM), "limit": whole(1, HISTORY_MOST)}
    ),
    "GetEvents": record({"after_seq": whole(), "limit": whole(1, EVENTS_MOST)}),
    "Diff": record(
        {"from": _SOURCE, "to": _SOURCE, "items": _PATHS, "after": TEXT, "limit": whole(1, ROWS_MOST)}, ("to",)
    ),
    "Blame": record({"items": _PATHS}),
    "PutRecipe": record(
        {
            "name": NAME, "items": MAPPING, "from": _SOURCE, "models": listed(TEXT), "note": TEXT,
            "if_version": whole(),
        },
        ("name",),
    ),
    "GetRecipe": record({"name": NAME, "version": whole(1)}, ("name",)),
    "ListRecipes": record({"prefix": TEXT, "after": TEXT, "limit": whole(1, LIST_MOST)}),
    "DeleteRecipe": record({"name": NAME, "if_version": whole()}, ("name",)),
    "FindArms": record(
        {
            "where": record(
                {
                    "arms": listed(TEXT), "groups": listed(TEXT), "model": TEXT, "adapter": TEXT,
                    "presence": one_of(*PRESENCES), "activity": one_of(*Activity), "authority": one_of(*Authority),
                    "mode": _MODE, "held_by": TEXT, "ready": FLAG, "pending": FLAG, "override": FLAG, "differs": FLAG,
                    "recipe": TEXT, "recipe_drift": FLAG,
                    "value": listed(_CONDITION),
                }
            ),
            "show": listed(TEXT), "after": TEXT, "limit": whole(1, FOUND_MOST),
        }
    ),
    "GetFleetHistory": record(
        {
            "since": TIME, "until": TIME, "user": TEXT, "item": TEXT, "method": TEXT, "plan": whole(1),
            "outcome": TEXT, "cursor": TEXT, "limit": whole(1, HISTORY_MOST),
        }
    ),
    "WhoAmI": _NONE,
    "ConfirmPending": _PENDING,
    "DiscardPending": _PENDING,
    "ConfirmArm": _NONE,
    "RestoreFactory": _NONE,
    "ExtendOverride": record({**_OVERRIDES, "valid_for_ms": whole(*VALID_FOR_MS), "until": TIME}),
    "EndOverride": record({**_OVERRIDES, "direction": one_of(*DIRECTIONS), "keep": FLAG}),
    "ApplyConfig": record(
        {"items": MAPPING, "partial": FLAG, "on_failure": one_of("leave", "reverse")}, ("items",)
    ),
    "ApplyRecipe": record(
        {
            "recipe": NAME, "version": whole(1), "items": _PATHS, "partial": FLAG,
            "on_failure": one_of("leave", "reverse"),
        },
        ("recipe",),
    ),
    "RestoreRevision": record(
        {"rev": whole(1), "items": _PATHS, "partial": FLAG, "on_failure": one_of("leave", "reverse")}, ("rev",)
    ),
    "SetAuthority": record({"authority": one_of(*Authority), "reason": TEXT}, ("authority",)),
    "HoldArm": record({"reason": TEXT, "until": TIME}, ("reason",)),
    "ReleaseArm": _NONE,
    "Rollout": record(
        {
            "method": TEXT, "params": MAPPING, "on_failure": one_of(*OnFailure),
            "canary": either(whole(1, CANARY_MOST), listed(TEXT)), "waves": listed(whole(1, WHOLE)),
            "soak_ms": whole(0, DAY_MS), "gates": listed(one_of(*Gate)), "max_failed": whole(0, FAILED_MOST),
            "pause_after": listed(whole()), "confirm_within_ms": whole(60_000, DAY_MS),
            "row_within_ms": whole(1_000, DAY_MS),
        },
        ("method", "params", "on_failure"),
    ),
    "GetPlan": record(
        {
            "plan": whole(1), "arm": TEXT, "state": one_of(*RowState), "after": TEXT, "limit": whole(1, PAGE_MOST),
        },
        ("plan",),
    ),
    "ListPlans": record(
        {
            "state": one_of(*PlanState), "kind": one_of(*PlanKind), "user": TEXT, "before": whole(1),
            "limit": whole(1, PLANS_MOST),
        }
    ),
    "SteerPlan": record(
        {"plan": whole(1), "action": one_of(*Action), "reason": TEXT, "digest": TEXT}, ("plan", "action")
    ),
    "SimFault": record(
        {
            "fault": one_of(*FAULTS), "for_ms": whole(0, LONGEST_MS), "delay_ms": whole(0, LONGEST_MS),
            "item": ref(ITEM), "slot": TEXT, "value": ANY,
        },
        ("fault",),
    ),
}  # fmt: skip
"""Of each method without a message for its params."""

RESULTS: dict[str, Schema] = {
    "DescribeJointParameters": record({"parameters": mapped(MAPPING)}, ("parameters",)),
    "Explain": record({"mode": _MODE, "numbers": listed(MAPPING)}, ("mode", "numbers")),
    "CheckTrajectory": record(
        {
            "within": FLAG, "mode": _MODE, "check_mode": _CHECK_MODE, "points": whole(), "count": whole(),
            "first": ANY, "worst": ANY, "violations": listed(MAPPING), "more": FLAG,
        },
        ("within", "mode", "check_mode", "points", "count", "violations", "more"),
    ),
    "CheckCommand": record(
        {
            "limited": FLAG, "mode": _MODE, "check_mode": _CHECK_MODE, "limiter": _LIMITER, "command": _LISTS,
            "reasons": listed(MAPPING),
        },
        ("limited", "mode", "check_mode", "limiter", "command", "reasons"),
    ),
    "GetHistory": record(
        {"changes": listed(MAPPING), "more": FLAG, "missing": _MISSING}, ("changes", "more", "missing")
    ),
    "GetEvents": record(
        {
            "events": listed(MAPPING), "first_seq": whole(), "head_seq": whole(), "more": FLAG, "missing": _MISSING,
        },
        ("events", "first_seq", "head_seq", "more"),
    ),
    "Diff": either(_DIFF, _DIFF_OF_GROUP),
    "Blame": record({"values": listed(MAPPING)}, ("values",)),
    "PutRecipe": record(
        {"name": NAME, "version": whole(1), "digest": TEXT, "unchanged": FLAG},
        ("name", "version", "digest", "unchanged"),
    ),
    "GetRecipe": record(
        {**_RECIPE, "items": MAPPING, "versions": listed(whole(1))}, (*_RECIPE, "items", "versions")
    ),
    "ListRecipes": record(
        {"recipes": listed(record({**_RECIPE, "arms": whole()}, (*_RECIPE, "arms"))), "more": FLAG}, ("recipes", "more")
    ),
    "FindArms": record({"arms": listed(MAPPING), "count": whole(), "more": FLAG}, ("arms", "count", "more")),
    "GetFleetHistory": record(
        {"changes": listed(MAPPING), "cursor": TEXT, "more": FLAG}, ("changes", "cursor", "more")
    ),
    "WhoAmI": record(
        {
            "user": TEXT, "conn": TEXT, "codec": TEXT, "size": whole(), "at": TIME, "identity": TEXT,
            "roles": listed(TEXT),
        },
        ("user", "conn"),
    ),
    "RestoreFactory": record({"items": mapped(TEXT)}),
    "ExtendOverride": record({"overrides": listed(record({"rev": whole(1), "until": TIME}))}, ("overrides",)),
    "EndOverride": record({"ended": listed(whole(1)), "left": listed(whole(1))}, ("ended", "left")),
    "ApplyConfig": record({"items": mapped(either(TEXT, MAPPING)), "left_out": mapped(MAPPING)}),
    "ApplyRecipe": record(
        {
            "items": mapped(either(TEXT, MAPPING)), "left_out": mapped(MAPPING),
            "recipe": record({"name": NAME, "version": whole(1), "digest": TEXT}, ("name", "version")),
        }
    ),
    "Rollout": _SUMMARY,
    "GetPlan": _PLAN,
    "ListPlans": record({"plans": listed(MAPPING), "more": FLAG}, ("plans", "more")),
    "SteerPlan": record({"plan": whole(1), "state": one_of(*PlanState)}, ("plan", "state")),
    "RestoreRevision": record(
        {"items": mapped(either(TEXT, MAPPING)), "left_out": mapped(MAPPING)}
    ),
    **dict.fromkeys(
        (
            "ConfirmPending", "DiscardPending", "ConfirmArm", "SetAuthority", "HoldArm",
            "ReleaseArm", "SimFault", "DeleteRecipe",
        ),
        _NONE,
    ),
}  # fmt: skip
"""Of each method without a message for its result."""
