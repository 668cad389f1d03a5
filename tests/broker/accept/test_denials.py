"""Refusals by the rights of users, as monitors and the history see them."""

from pathlib import Path
from typing import Any

from broker.accept.denials import EVERY_S, KNOWN_MOST
from tests.virtual_plant import Plant, play

GRAVITY = ("SetGravityVector", {"z": -9.81})
CLIENTS = {"*": {"rights": []}, "u": {"rights": ["write"], "arms": ["r1"]}}


def denied(plant: Plant) -> list[dict[str, Any]]:
    """What was told of refusals."""
    return [
        each.document
        for each in plant.link.published
        if each.topic.endswith("/admin") and each.document["event"] == "REQUEST_DENIED"
    ]


def test_the_first_refusal_is_told_at_once_and_the_others_by_the_minute(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(5):
            reply = await plant.call("r1", *GRAVITY, user="bob", id=f"b{number}")
            assert reply["error"]["kind"] == "not_permitted"
        (first,) = denied(plant)
        assert (first["arm"], first["kind"], first["count"], first["cause"]) == ("r1", "not_permitted", 1, "refused")
        assert first["by"] == {"user": "bob", "connection": "c", "proven": False}
        assert first["request_id"] == "bob/c/b0"
        assert "SetGravityVector of r1 needs the right write" in first["reason"]
        await plant.turn(2 * EVERY_S + 5)
        assert [event["count"] for event in denied(plant)] == [1, 4]
        assert denied(plant)[1]["request_id"] == "bob/c/b4"
        history = (await plant.call("r1", "GetHistory", {"item": "arm"}, user="bob"))["result"]["changes"]
        assert [(entry["method"], entry["outcome"]) for entry in history] == [("SetGravityVector", "refused")] * 2
        assert (await plant.call("r1", *GRAVITY))["stage"] == "applied"

    play(tmp_path, scenario, clients=CLIENTS)


def test_each_user_is_told_of_by_name(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", *GRAVITY, user="bob")
        await plant.call("r2", *GRAVITY)
        await plant.call("r2", *GRAVITY, user="bob")
        assert [(event["arm"], event["by"]["user"]) for event in denied(plant)] == [("r1", "bob"), ("r2", "u")]
        await plant.turn(2 * EVERY_S + 5)
        assert [(event["arm"], event["by"]["user"]) for event in denied(plant)][2:] == [("r2", "bob")]
        assert plant.service._access.denials._tallies.keys() <= {("bob", "not_permitted")}

    play(tmp_path, scenario, clients=CLIENTS)


def test_memory_is_bounded_whoever_asks(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(KNOWN_MOST + 20):
            plant.send("r1", *GRAVITY, user=f"user{number}")
        await plant.call("r1", *GRAVITY, user="last")
        assert len(plant.service._access.denials._tallies) == KNOWN_MOST + 1
        assert {event["by"]["user"] for event in denied(plant)} == {
            *(f"user{number}" for number in range(KNOWN_MOST)),
            "@others",
        }
        await plant.turn(2 * EVERY_S + 5)
        assert [event["count"] for event in denied(plant)][-1] == 20
        await plant.turn(2 * EVERY_S)
        assert plant.service._access.denials._tallies == {}

    play(tmp_path, scenario, clients=CLIENTS)
