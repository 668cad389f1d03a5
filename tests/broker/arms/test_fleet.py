"""The arms of the settings."""

from pathlib import Path

import pytest

from broker.arms.fleet import Fleet
from broker.settings import from_document
from devices.adapter import ArmError
from devices.adapter_class import AdapterAbout
from devices.registry import BUILT_IN
from devices.simulated import SimulatedArm
from schema.arms import Authority


class RealArm(SimulatedArm):
    """An adapter that says nothing of an authority."""

    about = AdapterAbout(purpose="a real arm", methods=frozenset(), items=frozenset())


async def test_arms_share_what_belongs_to_their_adapter(tmp_path: Path) -> None:
    document = {
        "store": {"dir": str(tmp_path)},
        "sim": {"faults": True, "latency_ms": 5},
        "checks": {"strict": True},
        "arm_defaults": {"queue": 7},
        "arm": [{"id": "r1", "model": "gen3_7dof"}, {"id": "r2", "model": "gen3_lite", "options": {"latency_ms": 0}}],
    }
    fleet = Fleet(from_document(document), {}, 0)
    state = fleet.sessions["r2"].state
    assert (state.strict, state.queue_limit, state.faults_allowed) == (True, 7, True)
    assert {"GetHistory", "SimFault", "SetControlMode"} <= state.methods
    assert [path.name for path in (tmp_path / "adapters").iterdir()] == ["simulated"]
    await fleet.close()


@pytest.mark.parametrize(
    ("adapter", "named", "authority"),
    [
        ("simulated", {}, Authority.CONTROL),
        ("simulated", {"authority": "observe"}, Authority.OBSERVE),
        ("real", {}, Authority.OBSERVE),
        ("real", {"authority": "advise"}, Authority.ADVISE),
    ],
)
async def test_an_arm_has_the_authority_of_the_settings_else_of_its_adapter(
    adapter: str, named: dict[str, str], authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BUILT_IN, "real", f"{__name__}:RealArm")
    arm = {"id": "r1", "model": "gen3_7dof", "adapter": adapter, **named}
    fleet = Fleet(from_document({"store": {"dir": str(tmp_path)}, "arm": [arm]}), {}, 0)
    session = fleet.sessions["r1"]
    assert (session.state.authority, session.file_authority) == (authority, authority)
    await fleet.close()


@pytest.mark.parametrize(
    ("arm", "why"),
    [
        ({"model": "no_model"}, "no_model"),
        ({"model": "gen3_7dof", "adapter": "no_adapter"}, "no_adapter"),
        ({"model": "gen3_7dof", "options": {"speed": 1}}, "speed"),
    ],
)
def test_an_arm_that_cannot_be_is_refused_by_name(arm: dict[str, object], why: str, tmp_path: Path) -> None:
    settings = from_document({"store": {"dir": str(tmp_path)}, "arm": [{"id": "r1", **arm}]})
    with pytest.raises(ArmError, match=why):
        Fleet(settings, {}, 0)
