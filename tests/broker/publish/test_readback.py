"""What the MQTT server retains is read back: what is right stays, all else is mended, ghosts go."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from broker import self_description
from broker.publish.readback import SILENCE_S, SILENT_MOST
from broker.record.replies import JSON
from tests.memory_link import BASE
from tests.virtual_plant import Plant, play, run

SET = "SetTwistLinearSoftLimit"
SLOT = "CARTESIAN_JOYSTICK"
NAMES = ("presence", "config", "mode", "reported", "effective")
QUIET_S = 10.0


def value(limit: float) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": SLOT, "twist_linear_soft_limit": limit}


def topics(plant: Plant, after: int) -> list[str]:
    """Where something was published, from a publication on, but for the service itself."""
    return [each.topic for each in plant.link.published[after:] if not each.topic.startswith(("svc/", "meta/service"))]


def said(payload: bytes) -> dict[str, Any]:
    """A document without what may be newer."""
    newer = dict.fromkeys(("at", "rev", "seq", "read_at", "mode_seen_at"))
    document: dict[str, Any] = json.loads(payload)
    return document | newer


def without(topic: str, *fields: str, **others: Any) -> Callable[[dict[str, bytes]], None]:
    """A change of what is retained: fields that are gone, or others in their place."""

    def spoil(retained: dict[str, bytes]) -> None:
        document = json.loads(retained[f"{BASE}/{topic}"])
        kept = {key: one for key, one in document.items() if key not in fields} | others
        retained[f"{BASE}/{topic}"] = json.dumps(kept).encode()

    return spoil


def test_after_a_reconnect_what_is_old_missing_or_foreign_is_mended_and_nothing_else_sent(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(QUIET_S)
        snapshot = dict(plant.link.retained)
        await plant.call("r1", SET, value(0.25))
        await plant.call("r2", "SetControlMode", {"control_mode": "ANGULAR_JOYSTICK"})
        await plant.turn(QUIET_S)
        last = dict(plant.link.retained)
        plant.link.retained = snapshot
        del snapshot[f"{BASE}/state/r2/config"]
        snapshot[f"{BASE}/state/r1/presence"] = b"\xff{"
        after = len(plant.link.published)
        plant.link.lose()
        plant.link.restore(present=True)
        await plant.turn(QUIET_S)
        sent = topics(plant, after)
        wrong = [("r1", "presence"), *(("r1", name) for name in ("config", "reported", "effective"))]
        wrong += [("r2", name) for name in ("config", "mode", "reported", "effective")]
        assert sorted(sent) == sorted(f"state/{arm}/{name}" for arm, name in wrong)
        assert [topic.rpartition("/")[2] for topic in sent] == sorted((name for _, name in wrong), key=NAMES.index)
        for topic, payload in plant.link.retained.items():
            if topic.startswith(f"{BASE}/state/"):
                assert said(payload) == said(last[topic])
        after = len(plant.link.published)
        plant.link.lose()
        plant.link.restore(present=False)
        await plant.turn(QUIET_S)
        assert topics(plant, after) == []

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("topic", "spoil"),
    [
        ("state/r1/config", without("state/r1/config", "pending")),
        ("state/r1/config", without("state/r1/config", differs=["x"])),
        ("state/r1/config", without("state/r1/config", seq=0)),
        ("state/r1/config", without("state/r1/config", seq=99)),
        ("state/r1/config", without("state/r1/config", rev=1)),
        ("state/r1/config", without("state/r1/config", rev="x")),
        ("state/r1/config", without("state/r1/config", epoch=99)),
        ("state/r1/config", without("state/r1/config", epoch=1 << 70)),
        ("state/r1/config", without("state/r1/config", seq=True)),
        ("state/r1/config", without("state/r1/config", svc="other")),
        ("state/r1/mode", without("state/r1/mode", by={"user": "mallory", "connection": "c", "proven": True})),
        ("state/r1/mode", without("state/r1/mode", control_mode="IDLE")),
        ("state/r1/presence", without("state/r1/presence", state="offline")),
        ("state/r1/reported", without("state/r1/reported", "hard_limits")),
        ("state/r1/effective", without("state/r1/effective", sources=[1])),
        ("meta/factsheet/r1", without("meta/factsheet/r1", "methods")),
        ("meta/asyncapi", without("meta/asyncapi", "channels")),
    ],
)
def test_a_document_that_says_something_else_is_mended(
    tmp_path: Path, topic: str, spoil: Callable[[dict[str, bytes]], None]
) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "SetControlMode", {"control_mode": "ANGULAR_JOYSTICK"})
        await plant.call("r1", SET, value(0.25))
        await plant.turn(QUIET_S)
        last, after = plant.link.retained[f"{BASE}/{topic}"], len(plant.link.published)
        spoil(plant.link.retained)
        plant.service._readback.ask()
        await plant.turn(QUIET_S)
        assert topics(plant, after) == [topic]
        assert said(plant.link.retained[f"{BASE}/{topic}"]) == said(last)

    play(tmp_path, scenario)


def test_what_only_was_seen_at_another_time_is_right(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(QUIET_S)
        for topic, fields in (
            ("state/r1/reported", {"read_at": "2020-01-01T00:00:00.000000Z", "at": "x"}),
            ("state/r1/mode", {"mode_seen_at": "2020-01-01T00:00:00.000000Z"}),
            ("state/r1/presence", {"since": "2020-01-01T00:00:00.000000Z"}),
        ):
            without(topic, **fields)(plant.link.retained)
        after = len(plant.link.published)
        plant.service._readback.ask()
        await plant.turn(QUIET_S)
        assert topics(plant, after) == []

    play(tmp_path, scenario)


def test_a_restart_sends_no_document_that_is_right(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path) as plant:
            await plant.call("r1", SET, value(0.25))
            await plant.call("r1", "SetControlMode", {"control_mode": "ANGULAR_JOYSTICK"})
            await plant.turn(QUIET_S)
            retained = dict(plant.link.retained)
        async with Plant(tmp_path, retained=retained) as plant:
            await plant.turn(QUIET_S)
            assert topics(plant, 0) == []
            await plant.call("r1", SET, value(0.2))
            await plant.turn(QUIET_S)
            changed = {each.topic for each in plant.link.published if each.topic.startswith("state/")}
            assert changed == {f"state/r1/{name}" for name in ("config", "reported", "effective")}

    run(scenario)


def test_arms_that_a_lost_store_knew_are_cleared_and_those_of_others_are_not(tmp_path: Path) -> None:
    def retained_of(arm: str, svc: str) -> dict[str, bytes]:
        document = json.dumps({"arm": arm, "svc": svc, "epoch": 1, "state": "online"}).encode()
        return {f"{BASE}/state/{arm}/{name}": document for name in NAMES} | {f"{BASE}/meta/factsheet/{arm}": b"{}"}

    retained = retained_of("ghost", "main") | retained_of("lost", "gone") | retained_of("theirs", "other")
    retained |= {f"{BASE}/svc/other": b'{"state": "online"}', f"{BASE}/svc/gone": b'{"state": "offline"}'}
    retained |= {f"{BASE}/state/mixed/config": b'{"svc": "main"}', f"{BASE}/state/mixed/mode": b'{"svc": "x"}'}
    retained[f"{BASE}/meta/factsheet/sheet"] = b"{}"

    async def scenario(plant: Plant) -> None:
        await plant.turn(QUIET_S)
        left = {topic.split("/")[-2] for topic in plant.link.retained if "/state/" in topic}
        assert left == {"r1", "r2", "@all", "lost", "theirs", "mixed"}
        assert f"{BASE}/meta/factsheet/ghost" not in plant.link.retained
        assert f"{BASE}/meta/factsheet/theirs" in plant.link.retained

    with capture_logs() as logs:
        play(tmp_path, scenario, retained=retained)
    warned = [entry for entry in logs if entry["event"] == "retained_of_unknown_arm"]
    assert sorted(entry["arm"] for entry in warned) == ["lost", "mixed", "sheet"]
    told = str(warned)
    assert "mosquitto_pub -h 127.0.0.1 -p 1883 -q 1 -r -n" in told
    assert f"{BASE}/state/lost/config" in told


def test_an_arm_that_was_not_tried_yet_is_compared_once_it_was(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Plant(tmp_path) as plant:
            await plant.turn(QUIET_S)
            retained = dict(plant.link.retained)
        without("state/r1/config", differs=["x"])(retained)
        async with Plant(tmp_path, retained=retained, sim={"latency_ms": 1_500}) as plant:
            assert not plant.session("r1").met
            await plant.turn(1.0)
            assert topics(plant, 0) == []
            await plant.turn(60.0)
            assert topics(plant, 0) == ["state/r1/config"]

    run(scenario)


def test_where_nothing_can_be_read_everything_is_published(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(QUIET_S)
        after = len(plant.link.published)
        plant.link.readable = False
        plant.service._readback.ask()
        await plant.turn(60.0)
        assert len(topics(plant, after)) == 2 * (len(NAMES) + 1) + len(("errors", "asyncapi", "groups", "@all"))

    play(tmp_path, scenario)


def test_what_was_shortened_for_the_server_is_right_as_it_is(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(QUIET_S)
        document = JSON.encode_document(self_description.asyncapi(plant.settings))
        plant.link.max_packet = len(document) // 2
        plant.service._readback.ask()
        await plant.turn(QUIET_S)
        short = plant.link.retained[f"{BASE}/meta/asyncapi"]
        assert len(short) < len(document) // 2
        after = len(plant.link.published)
        plant.service._readback.ask()
        await plant.turn(QUIET_S)
        assert "meta/asyncapi" not in topics(plant, after)

    play(tmp_path, scenario)


def test_a_reading_without_an_end_ends_all_the_same(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(QUIET_S)
        without("state/r1/config", differs=["x"])(plant.link.retained)
        after = len(plant.link.published)
        plant.link.mute = True
        plant.service._readback.ask()
        await plant.turn((SILENT_MOST + 3) * SILENCE_S)
        assert topics(plant, after) == ["state/r1/config"]

    play(tmp_path, scenario)


def test_a_start_keeps_its_documents_back_until_it_knows_what_is_retained_but_not_for_ever(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.25))
        await plant.turn(5.0)
        assert sorted(topics(plant, 0)) == ["evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", "res/u/c/1-1"]
        await plant.turn(10.0)
        assert "state/r1/config" in topics(plant, 0)

    def mute(service: Any) -> None:
        service._link.mute = True

    play(tmp_path, scenario, prepare=mute)
