"""The example of a policy says what its page says."""

from datetime import UTC, datetime

import pytest

from broker.settings.policy_file import compiled, read_policy
from handlers.policy.needs import Need
from handlers.policy.quantities import Number
from handlers.policy.rights import PolicyRight
from handlers.policy.verdict import Facts, Passed, verdict
from tests.mosquitto import ROOT

POLICY = compiled(read_policy(ROOT / "deploy" / "policy.toml"), {})
NOON, NIGHT = (
    int(datetime(2026, 11, 30, hour, tzinfo=UTC).timestamp() * 1_000_000) for hour in (12, 23)
)  # fmt: skip
TWIST, PAYLOAD = "twist_linear_soft_limit", "payload_information"


def need(right: PolicyRight, item: str = TWIST, **numbers: float) -> Need:
    """What a change of r12 needs."""
    return Need(right, "r12", item, item, tuple(Number((name,), name, value, "") for name, value in numbers.items()))


@pytest.mark.parametrize(
    ("user", "asked", "at_us", "passes"),
    [
        ("zoe", need(PolicyRight.TIGHTEN), NIGHT, True),
        ("zoe", need(PolicyRight.HOLD), NIGHT, True),
        ("zoe", need(PolicyRight.MODE), NOON, False),
        ("hmi-7", need(PolicyRight.MODE), NIGHT, True),
        ("bob", need(PolicyRight.LOOSEN, twist_linear=0.2), NOON, False),
        ("alice", need(PolicyRight.LOOSEN, twist_linear=0.2), NOON, True),
        ("alice", need(PolicyRight.LOOSEN, twist_linear=0.2), NIGHT, False),
        ("alice", need(PolicyRight.LOOSEN, twist_linear=0.3), NOON, False),
        ("alice", need(PolicyRight.LOOSEN, PAYLOAD, payload_mass=2.0), NIGHT, True),
        ("alice", need(PolicyRight.LOOSEN, PAYLOAD, payload_mass=2.5), NOON, False),
        ("carol", need(PolicyRight.APPROVE), NIGHT, True),
        ("bob", need(PolicyRight.APPROVE), NOON, False),
    ],
)
def test_who_may_what(user: str, asked: Need, at_us: int, passes: bool) -> None:
    assert isinstance(verdict(POLICY, asked, Facts(user, at_us)), Passed) is passes
