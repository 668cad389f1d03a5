"""What of the operations of a fleet a build serves."""

FEATURES: tuple[str, ...] = ("batch", "override", "idle", "history", "recipe", "group", "rollout", "policy", "find")
"""Words of `features` in `meta/service`, of ALL_FEATURES."""
ALL_FEATURES = ("batch", "override", "idle", "history", "recipe", "group", "rollout", "policy", "find")
"""All that the protocol has, in its order."""

UNBUILT: dict[str, str] = {}
"""Methods that the protocol describes and this build has not: each with the feature that it belongs to."""
