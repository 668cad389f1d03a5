"""What no packet can carry is told without its largest parts, and says so."""

import json
from pathlib import Path
from typing import Any

from broker.publish.shortening import event_shortener, shortener
from tests.memory_link import BASE
from tests.virtual_plant import Plant, play

HEAD = {"arm": "r1", "svc": "main", "epoch": 1, "rev": 2, "seq": 3, "at": "now"}


def shortened(name: str, document: dict[str, Any], room: int) -> dict[str, Any]:
    """The document in so many bytes."""
    payload = shortener(name, json.dumps(HEAD | document).encode())(room)
    assert len(payload) <= room
    found: dict[str, Any] = json.loads(payload)
    assert HEAD.items() <= found.items()
    return found


def test_the_largest_parts_go_first_and_are_named() -> None:
    items = {"small": [1] * 10, "large": [1] * 900, "larger": [1] * 1_000}
    found = shortened("config", {"items": items, "pending": [{"rev": 1}], "differs": []}, 500)
    assert found["items"] == {"small": [1] * 10, "large": None, "larger": None}
    assert found["left_out"] == [{"path": "items.larger", "bytes": 2_001}, {"path": "items.large", "bytes": 1_801}]
    assert found["pending"] == [{"rev": 1}]
    assert shortened("config", {"items": {}, "pending": [{"rev": 1}] * 200}, 300)["pending"] is None


def test_effective_limits_lose_their_sources_first_and_then_everything() -> None:
    effective = {"sources": [{"by": "x" * 100}] * 9, "modes": {"M": {"velocity": [1.0] * 50}}, "other_modes": {}}
    found = shortened("effective", effective, 700)
    assert (found["sources"], found["modes"]) == (None, effective["modes"])
    assert found["left_out"][0]["path"] == "sources"
    none = shortened("effective", effective, 300)
    assert none.keys() == {*HEAD, "why"}
    assert "Explain" in none["why"]


def test_an_event_keeps_what_monitors_count_by() -> None:
    event = {"arm": "r1", "epoch": 1, "seq": 9, "prev": 8, "event": "E", "notification": {"n": 1}, "reason": "why"}
    event |= {"change": {"item": "i", "before": ["b"] * 500, "after": ["a"] * 500}}
    payload = json.dumps(event).encode()
    found = json.loads(event_shortener(payload)(2_400))
    assert (found["change"]["before"], len(found["change"]["after"]), found["prev"]) == (None, 500, 8)
    found = json.loads(event_shortener(payload)(400))
    assert (found["change"], found["notification"]) == ({"item": "i", "before": None, "after": None}, {"n": 1})
    assert [one["path"] for one in found["left_out"]] == ["change.before", "change.after"]
    assert json.loads(event_shortener(json.dumps(event | {"change": None}).encode())(10))["reason"] is None


def test_what_cannot_be_shortened_further_stays() -> None:
    payload = json.dumps(HEAD | {"control_mode": "IDLE"}, separators=(",", ":")).encode()
    assert json.loads(shortener("mode", payload)(5)) == HEAD | {"left_out": [{"path": "*", "bytes": len(payload)}]}


def test_documents_and_events_of_a_small_server_are_shortened_once_and_then_right(tmp_path: Path) -> None:
    def small(service: Any) -> None:
        service._link.max_packet = 1_000

    async def scenario(plant: Plant) -> None:
        parameters = {f"joint_limits.joint_{n}.max_velocity": 0.5 for n in range(1, 8)}
        parameters |= {f"joint_limits.joint_{n}.has_velocity_limits": True for n in range(1, 8)}
        reply = await plant.call("r1", "SetJointParameters", {"parameters": parameters})
        assert reply["stage"] == "applied"
        (event,) = plant.events("r1")
        assert event["change"]["after"] is None
        assert [one["path"] for one in event["left_out"]][-1] == "change.after"
        await plant.turn(10.0)
        for name in ("config", "reported", "effective"):
            payload = plant.link.retained[f"{BASE}/state/r1/{name}"]
            assert len(payload) < 1_000
            assert json.loads(payload).keys() & {"left_out", "why"}
        after = len(plant.link.published)
        plant.service._readback.ask()
        await plant.turn(10.0)
        assert [each.topic for each in plant.link.published[after:] if each.topic.startswith("state/")] == []

    play(tmp_path, scenario, prepare=small)
