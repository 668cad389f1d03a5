"""A policy: roles of users, and what they may do how often."""

from handlers.policy.rights import PolicyRight
from handlers.policy.rules import Policy, Rate, Rule

ROLES = {"operator": ("bob", "hmi-*"), "engineer": ("alice", "hmi-7"), "robots": ("*",)}


def test_roles_are_named_or_begun() -> None:
    policy = Policy(roles=ROLES)
    assert policy.roles_of("bob") == {"operator", "robots"}
    assert policy.roles_of("hmi-7") == {"operator", "engineer", "robots"}
    assert policy.roles_of("hmi-") == {"operator", "robots"}
    assert Policy(roles={"operator": ("bob",)}).roles_of("bobby") == frozenset()
    assert Policy().roles_of("bob") == frozenset()


def test_a_user_has_the_highest_rate_of_its_roles_else_that_of_everybody() -> None:
    slow, quick, everybody = Rate(30, 0.5), Rate(5, 5), Rate(100, 100 / 3600)
    policy = Policy(roles=ROLES | {"robots": ()}, rates={"operator": slow, "engineer": quick, "*": everybody})
    assert policy.rate_of("bob") is slow
    assert policy.rate_of("hmi-7") is quick
    assert policy.rate_of("zoe") is everybody
    assert Policy(roles=ROLES, rates={"engineer": quick}).rate_of("bob") is None
    assert Policy(roles=ROLES).rate_of("bob") is None


def test_rules_by_right_and_what_is_asked_at_all() -> None:
    first = Rule("first", frozenset("*"), frozenset({PolicyRight.LOOSEN, PolicyRight.TIGHTEN}))
    second = Rule("second", frozenset("*"), frozenset({PolicyRight.LOOSEN}), two_person=True)
    policy = Policy((first, second))
    assert policy.rules_of(PolicyRight.LOOSEN) == (first, second)
    assert policy.rules_of(PolicyRight.TIGHTEN) == (first,)
    assert policy.rules_of(PolicyRight.MODE) == ()
    assert (policy.asks_reads, policy.proposes) == (False, True)
    reading = Policy((Rule("reads", frozenset("*"), frozenset({PolicyRight.READ})),))
    assert (reading.asks_reads, reading.proposes) == (True, False)
