"""The rights that a rule may name, and which of them each method needs."""

import enum
from collections.abc import Mapping

from schema.items import methods_by_verb


class PolicyRight(enum.StrEnum):
    """What a rule may allow."""

    READ = "read"
    TIGHTEN = "tighten"
    LOOSEN = "loosen"
    MODE = "mode"
    AUTHORITY = "authority"
    HOLD = "hold"
    FAULT = "fault"
    CONFIRM = "confirm"
    RECIPE = "recipe"
    ROLLOUT = "rollout"
    STEER = "steer"
    APPROVE = "approve"


OF_VALUES = frozenset({PolicyRight.TIGHTEN, PolicyRight.LOOSEN})
"""The rights of changes of items, told apart by their direction."""
OF_NO_ARM = frozenset({PolicyRight.RECIPE})
"""The rights that are about no arm: the arms of a rule do not count."""


class Asked(enum.Enum):
    """What a method needs where it is no right that its name tells."""

    NOTHING = "nothing"
    """Handles, and what the service says of the sender."""
    BY_DIRECTION = "by direction"
    """To tighten or to loosen, as its decision tells."""
    BY_PLAN = "by plan"
    """To steer or to approve, as the plan and its owner tell."""


_BY_DIRECTION = (
    "ApplyConfig", "ApplyRecipe", "RestoreRevision", "RestoreFactory", "ExtendOverride", "EndOverride",
    "SetJointLimits", "SetJointLimit", "ResetJointLimits", "SetJointSafety", "ClearJointSafety", "ResetJointSafety",
    "SetJointParameters", *methods_by_verb("Set").values(), *methods_by_verb("Reset").values(),
)  # fmt: skip
_READ = (
    *methods_by_verb("Get").values(),
    "GetControlMode", "GetKinematicHardLimits", "GetKinematicSoftLimits", "GetAllKinematicSoftLimits",
    "GetDesiredSpeeds", "GetJointLimits", "GetJointSafety", "GetJointParameters", "DescribeJointParameters",
    "Explain", "GetSkeleton", "CheckTrajectory", "CheckCommand", "GetHistory", "GetEvents", "Diff", "Blame",
    "FindArms", "GetFleetHistory", "GetRecipe", "ListRecipes", "GetPlan", "ListPlans",
)  # fmt: skip

NEEDS: Mapping[str, PolicyRight | Asked] = {
    **dict.fromkeys(("ControlConfigurationTopic", "ControlModeTopic", "Unsubscribe", "WhoAmI"), Asked.NOTHING),
    **dict.fromkeys(_READ, PolicyRight.READ),
    **dict.fromkeys(_BY_DIRECTION, Asked.BY_DIRECTION),
    "SetControlMode": PolicyRight.MODE,
    "SetAuthority": PolicyRight.AUTHORITY,
    "HoldArm": PolicyRight.HOLD,
    "ReleaseArm": PolicyRight.HOLD,
    "SimFault": PolicyRight.FAULT,
    "ConfirmPending": PolicyRight.CONFIRM,
    "DiscardPending": PolicyRight.CONFIRM,
    "ConfirmArm": PolicyRight.CONFIRM,
    "PutRecipe": PolicyRight.RECIPE,
    "DeleteRecipe": PolicyRight.RECIPE,
    "Rollout": PolicyRight.ROLLOUT,
    "SteerPlan": Asked.BY_PLAN,
}
"""What each method needs."""
