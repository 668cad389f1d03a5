"""Pages of the history and of events, read piece by piece."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from broker.accept import long_reads
from broker.accept.long_reads import AT_ONCE, PIECE, LongReads
from handlers.rpc.outcome import Answer, EventsQuery, HistoryQuery
from schema.errors import BrokerError
from tests.virtual_plant import Plant, play

SET, BOTH = "SetPayloadInformation", "ApplyConfig"
CHANGES = 3 * PIECE + 5
AMPLE = 1 << 20


async def filled(plant: Plant) -> None:
    """Change one arm often: each third time two items as one."""
    for number in range(1, CHANGES + 1):
        payload = {"payload_mass": number / 1_000}
        if number % 3:
            plant.send("r1", SET, payload)
            continue
        items = {"payload_information": payload, "desired_linear_twist": {"linear": number / 1_000}}
        plant.send("r1", BOTH, {"items": items})
    await plant.turn(5.0)
    assert plant.session().state.rev == CHANGES + 1


def history(limit: int, item: str = "", before_rev: int = 0) -> HistoryQuery:
    """A question about the history."""
    return HistoryQuery(after_rev=1, before_rev=before_rev, item=item, limit=limit)


def result(found: Answer | BrokerError) -> dict[str, Any]:
    """What was answered."""
    assert isinstance(found, Answer)
    assert isinstance(found.result, dict)
    return found.result


class Asked:
    """Long reads with everything that they answered, in order."""

    def __init__(self, plant: Plant, tasks: asyncio.TaskGroup, room: int = AMPLE) -> None:
        self.reads = LongReads(plant.store, lambda: room, tasks)
        self.answers: list[tuple[str, Answer | BrokerError]] = []

    def ask(self, name: str, query: HistoryQuery | EventsQuery, user: str = "u") -> None:
        """Ask something."""
        self.reads.ask(user, "r1", query, lambda found: self.answers.append((name, found)))


def test_a_short_page_is_told_at_once_and_a_long_one_piece_by_piece(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await filled(plant)
        async with asyncio.TaskGroup() as tasks:
            asked = Asked(plant, tasks)
            for item in ("", "payload_information"):
                asked.ask("short", history(AT_ONCE, item))
            asked.ask("events", EventsQuery(after_seq=0, limit=AT_ONCE))
            assert [name for name, _ in asked.answers] == ["short", "short", "events"]
            for item in ("", "payload_information"):
                asked.ask("long", history(500, item))
            asked.ask("more events", EventsQuery(after_seq=0, limit=500))
            assert len(asked.answers) == 3
        for _, found in asked.answers[:2]:
            assert [one["rev"] for one in result(found)["changes"]] == list(
                range(CHANGES + 1, CHANGES + 1 - AT_ONCE, -1)
            )
            assert result(found)["more"] is True
        assert [name for name, _ in asked.answers[3:]] == ["long", "long", "more events"]
        for _, found in asked.answers[3:5]:
            assert [one["rev"] for one in result(found)["changes"]] == list(range(CHANGES + 1, 1, -1))
            assert (result(found)["more"], result(found)["missing"]) == (False, [])
        told = result(asked.answers[5][1])
        assert [one["seq"] for one in told["events"]] == list(range(1, told["head_seq"] + 1))

    play(tmp_path, scenario)


def test_users_take_turns_piece_by_piece(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await filled(plant)
        async with asyncio.TaskGroup() as tasks:
            asked = Asked(plant, tasks)
            for number in range(3):
                asked.ask(f"a{number}", history(500), user="a")
            asked.ask("b0", history(500), user="b")
        assert [name for name, _ in asked.answers] == ["a0", "b0", "a1", "a2"]

    play(tmp_path, scenario)


@pytest.mark.parametrize("item", ["", "payload_information"])
def test_a_page_ends_where_the_mqtt_server_takes_no_more(tmp_path: Path, item: str) -> None:
    async def scenario(plant: Plant) -> None:
        await filled(plant)
        revs: list[int] = []
        more, pages = True, 0
        while more:
            async with asyncio.TaskGroup() as tasks:
                asked = Asked(plant, tasks, room=2_000)
                asked.ask("page", history(500, item, before_rev=revs[-1] if revs else 0))
            page = result(asked.answers[0][1])
            revs += [one["rev"] for one in page["changes"]]
            more, pages = page["more"], pages + 1
        assert revs == list(range(CHANGES + 1, 1, -1))
        assert pages > CHANGES / 10

    play(tmp_path, scenario)


def test_pages_that_end_for_want_of_room_leave_no_entry_of_a_revision_out(tmp_path: Path) -> None:
    """Acts of administration stand at the revision that they found: the next page begins below it."""

    async def scenario(plant: Plant) -> None:
        for number in range(1, 5):
            plant.send("r1", SET, {"payload_mass": number / 1_000})
            await plant.turn(1.0)
            for authority in ("advise", "control"):
                plant.send("r1", "SetAuthority", {"authority": authority})
                await plant.turn(1.0)
        async with asyncio.TaskGroup() as tasks:
            for room in (*range(1_400, 3_000, 100), AMPLE):
                asked, told, before_rev, more = Asked(plant, tasks, room), list[dict[str, Any]](), 0, True
                while more:
                    asked.ask("", history(AT_ONCE, before_rev=before_rev))
                    page = result(asked.answers[-1][1])
                    told += page["changes"]
                    before_rev, more = told[-1]["rev"], page["more"]
                assert len(told) == 12, room

    play(tmp_path, scenario)


def test_an_entry_that_takes_all_the_room_is_told_alone(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await filled(plant)
        async with asyncio.TaskGroup() as tasks:
            asked = Asked(plant, tasks, room=1)
            asked.ask("page", history(500))
        page = result(asked.answers[0][1])
        assert ([one["rev"] for one in page["changes"]], page["more"]) == ([CHANGES + 1], True)

    play(tmp_path, scenario)


def test_what_is_damaged_is_missing_on_the_page_on_which_it_lies(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await filled(plant)
        connection = plant.store._writer._connection
        for rev in (CHANGES, CHANGES - 40):
            connection.execute("UPDATE job SET accepted = x'00' WHERE arm = 'r1' AND rev = ?", (rev,))
        connection.commit()
        missing, before, more = [], 0, True
        while more:
            async with asyncio.TaskGroup() as tasks:
                asked = Asked(plant, tasks, room=3_000)
                asked.ask("page", history(500, before_rev=before))
            page = result(asked.answers[0][1])
            missing += [one["first"] for one in page["missing"]]
            before, more = page["changes"][-1]["rev"], page["more"]
        assert missing == [CHANGES, CHANGES - 40]

    play(tmp_path, scenario)


def test_a_failure_and_the_end_are_told_of_each_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> dict[str, Any]:
        raise ZeroDivisionError

    async def scenario(plant: Plant) -> None:
        await filled(plant)
        async with asyncio.TaskGroup() as tasks:
            asked = Asked(plant, tasks)
            with monkeypatch.context() as patch:
                patch.setattr(long_reads, "history_entry", fail)
                asked.ask("failed", history(1))
            asked.ask("first", history(500))
            asked.ask("second", history(500), user="other")
            asked.reads.close()
        kinds = [(name, found.kind) for name, found in asked.answers if isinstance(found, BrokerError)]
        assert kinds == [("failed", "internal"), ("first", "shutting_down"), ("second", "shutting_down")]

    play(tmp_path, scenario)


def test_requests_are_answered_while_many_pages_are_read(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await filled(plant)
        after = len(plant.link.published)
        for number in range(40):
            plant.send("r1", "GetHistory", {"limit": 500}, id="h", user=f"reader-{number}")
        assert (await plant.call("r1", "GetPayloadInformation", user="other"))["ok"]
        for number in range(40):
            reply = await plant.reply("h", after, f"reader-{number}")
            assert len(reply["result"]["changes"]) == CHANGES
        assert plant.service._replies.owed == {}

    play(tmp_path, scenario)
