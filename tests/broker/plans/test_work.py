"""How plans are worked on: beside others, yielding to them, over full queues, full disks, restarts."""

import asyncio
import math
from pathlib import Path
from typing import Any

from broker.plans.restoring import STARTS_MOST
from broker.plans.rows import FULL_S
from broker.plans.steering import DAY_US
from tests.broker.plans.test_plans import ARMS, SET, TWIST, plan_events, rows, steer, told, twist
from tests.virtual_plant import START_US, Plant, play, run

MANY = tuple(f"a{number:03}" for number in range(300))
SLOW: dict[str, Any] = {"sim": {"faults": True, "latency_ms": 200}}


def test_a_dry_run_says_what_would_come_of_each_row_and_leaves_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r12", SET, twist(0.2))
        reply = await plant.call("@all", SET, twist(0.22), dry_run=True)
        assert (reply["ok"], reply["stage"], reply["final"], "plan" in reply) == (True, "checked", True, False)
        told_rows = {row["arm"]: (row["state"], row["message"]) for row in reply["result"]["rows"]}
        assert told_rows == {
            "r11": ("checked", "tightening"), "r12": ("checked", "loosening"), "r13": ("checked", "tightening"),
        }  # fmt: skip
        refused = await plant.call("@all", SET, twist(9.0), dry_run=True)
        assert (refused["ok"], refused["error"]["kind"]) == (False, "out_of_limits")
        assert (await plant.call("@all", "ListPlans"))["result"] == {"plans": [], "more": False}
        assert plant.events("@all") == []

    play(tmp_path, scenario, arms=ARMS)


def test_who_waits_for_the_store_alone_is_answered_at_once(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", SET, twist(0.2), wait="stored")
        assert (reply["stage"], reply["final"], reply["plan"]) == ("stored", False, 1)
        assert "rows" not in reply["result"]
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
        assert (await told(plant, 1))["outcome"] == "done"

    play(tmp_path, scenario, arms=ARMS)


def test_the_reply_comes_after_10_s_whatever_the_arms_do_and_the_document_follows(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r12", "hang", for_ms=60_000)
        began = plant.loop.time()
        reply = await plant.call("@all", SET, twist(0.2))
        assert 9.0 <= plant.loop.time() - began <= 11.0
        assert (reply["ok"], reply["final"], rows(reply)["r12"]) in (
            (True, False, "waiting"), (False, False, "unknown"),
        )  # fmt: skip
        document = await plant.document("state/@all/plan-1", lambda one: one["state"] == "ended")
        assert document["counts"]["applied"] == 2
        await plant.document("state/@all/plan-1", lambda one: one["counts"].get("applied") == 3)
        assert (await told(plant, 1))["counts"] == {"total": 3, "applied": 3}

    play(tmp_path, scenario, arms=ARMS)


def test_ruling_26_a_single_request_after_the_plan_wins(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.send("@all", SET, twist(0.2), id="plan", group={"parallel": 1})
        reply = await plant.call("a299", SET, twist(0.1), id="single")
        assert reply["stage"] == "applied"
        whole = await plant.reply("plan")
        (row,) = whole["result"]["rows"]
        assert (row["arm"], row["state"], row["kind"]) == ("a299", "refused", "overwritten")
        assert "revision 2 of a299, by u/c" in row["message"]
        assert whole["result"]["counts"] == {"total": 300, "applied": 299, "refused": 1}
        assert abs(getattr(plant.session("a299").state.reported[(TWIST, 2)], TWIST) - 0.1) < 1e-6

    play(tmp_path, scenario, arms=MANY)


def test_ruling_27_of_two_plans_the_later_wins_in_both_orders_of_work(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.send("@all", SET, twist(0.2), id="one", group={"parallel": 1})
        plant.send("@all", SET, twist(0.1), id="two", group={"parallel": 256})
        later = await plant.reply("two")
        assert later["result"]["counts"] == {"total": 300, "applied": 300}
        earlier = await plant.reply("one")
        counts = earlier["result"]["counts"]
        assert counts["total"] == 300
        assert set(counts) <= {"total", "applied", "refused"}
        await plant.turn(1.0)
        for arm in MANY:
            assert abs(getattr(plant.session(arm).state.desired[(TWIST, 2)], TWIST) - 0.1) < 1e-6

    play(tmp_path, scenario, arms=MANY)


def test_no_more_rows_are_under_way_than_may_be(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        book = plant.service._stage_1.plans.book
        most = 0
        plant.send("@all", SET, twist(0.2), id="plan", group={"parallel": 5})
        task = asyncio.ensure_future(plant.reply("plan"))
        while not task.done():
            most = max([most, *(live.plan.under_way for live in book.plans.values())])
            await asyncio.sleep(0.1)
        assert most == 5
        assert (await task)["result"]["counts"] == {"total": 20, "applied": 20}

    play(tmp_path, scenario, arms=MANY[:20], sim={"faults": True, "latency_ms": 200})


def test_a_plan_is_paused_goes_on_and_is_ended(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.send("@all", SET, twist(0.2), id="plan", wait="stored", group={"parallel": 1})
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
        paused = await steer(plant, 1, "pause", reason="coffee")
        assert (paused["stage"], paused["final"], paused["result"]) == ("stored", True, {"plan": 1, "state": "paused"})
        found = await told(plant, 1)
        assert (found["state"], found["why"]) == ("paused", "pause by u/c")
        before = found["counts"]["waiting"]
        await plant.turn(20.0)
        assert (await told(plant, 1))["counts"]["waiting"] in (before, before - 1)
        again = await steer(plant, 1, "pause")
        assert (again["ok"], again["error"]["kind"]) == (False, "revision_conflict")
        assert "plan 1 is paused, which takes resume, abort, reverse, not pause" in again["error"]["message"]
        assert (await steer(plant, 1, "resume"))["result"]["state"] == "running"
        assert (await steer(plant, 1, "abort"))["result"]["state"] == "ended"
        found = await told(plant, 1)
        assert (found["outcome"], found["counts"]["skipped"] > 0) == ("aborted", True)
        causes = [cause for _, cause in plan_events(plant)]
        assert causes == ["checked", "pause", "resume", "aborted"]
        assert (await steer(plant, 9, "pause"))["error"]["kind"] == "unknown_plan"
        other = {"plan": 1, "action": "reverse", "digest": "x"}
        assert (await plant.call("@all", "SteerPlan", other))["error"]["kind"] == "revision_conflict"

    play(tmp_path, scenario, arms=MANY[:20], **SLOW)


def test_only_its_owner_and_who_may_write_to_all_its_arms_steers_a_plan(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.send("@all", SET, twist(0.2), id="plan", wait="stored", group={"parallel": 1})
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
        params = {"plan": 1, "action": "pause"}
        refused = await plant.call("@all", "SteerPlan", params, user="eve")
        assert refused["error"]["kind"] == "not_permitted"
        assert "no right to write to a001" in refused["error"]["message"]
        assert (await plant.call("@all", "SteerPlan", params, user="bob"))["ok"]

    clients = {"eve": {"arms": ["a000"], "rights": ["write"]}}
    play(tmp_path, scenario, arms=MANY[:5], clients=clients, **SLOW)


def test_ruling_48_a_plan_that_was_paused_and_forgotten_ends_after_7_days(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.send("@all", SET, twist(0.2), id="plan", wait="stored", group={"parallel": 1})
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
        await steer(plant, 1, "pause")
        await plant.turn(6.9 * DAY_US / 1e6)
        assert (await told(plant, 1))["state"] == "paused"
        await plant.turn(0.2 * DAY_US / 1e6)
        found = await told(plant, 1)
        assert (found["state"], found["outcome"], found["why"]) == ("ended", "aborted", "it was paused for 7 days")

    play(tmp_path, scenario, arms=MANY[:5], **SLOW)


def test_ruling_49_a_row_waits_for_room_in_the_queue_of_its_arm(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("a001", "hang", for_ms=600_000)
        for number in range(8):
            plant.send("a001", SET, twist(0.4 - number / 100), user=f"w{number}")
        await plant.turn(0.1)
        began = plant.loop.time()
        plant.send("@all", SET, twist(0.2), id="plan", wait="stored")
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
        assert FULL_S <= plant.loop.time() - began <= FULL_S + 3
        found = await told(plant, 1)
        assert found["counts"] == {"total": 3, "applied": 2, "refused": 1}
        assert [(row["arm"], row["kind"]) for row in found["rows"] if row["state"] == "refused"] == [("a001", "busy")]

    play(tmp_path, scenario, arms=MANY[:3], arm_defaults={"queue": 4})


def test_ruling_50_rows_wait_while_the_disk_is_full(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reserve = plant.store.reserve
        reserve.full, reserve._looked_s = True, math.inf
        refused = await plant.call("@all", SET, twist(0.2))
        assert refused["error"]["kind"] == "store_unavailable"
        reserve.full = False
        plant.send("@all", SET, twist(0.2), id="plan", group={"parallel": 1})
        await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
        reserve.full = True
        await plant.turn(5.0)
        waiting = plant.service._stage_1.plans.book.plans[1].plan.tally.shown()["waiting"]
        assert waiting >= 3
        reserve.full = False
        reply = await plant.reply("plan")
        assert reply["result"]["counts"] == {"total": 5, "applied": 5}

    play(tmp_path, scenario, arms=MANY[:5], sim={"faults": True, "latency_ms": 200})


def test_rows_that_did_not_begin_in_time_end_expired(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", SET, twist(0.2), ttl_ms=500, group={"parallel": 1})
        states = rows(reply)
        assert states["a000"] == "applied"
        kinds = {row.get("kind") for row in reply["result"]["rows"] if row["state"] == "refused"}
        assert kinds == {"expired"}

    play(tmp_path, scenario, arms=MANY[:5], **SLOW)


def test_arms_that_are_held_released_and_confirmed_as_a_group(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", "HoldArm", {"reason": "inspection"})
        assert (reply["ok"], reply["stage"], reply["final"]) == (True, "stored", True)
        assert rows(reply) == dict.fromkeys(ARMS, "stored")
        barred = await plant.call("@all", SET, twist(0.2), user="bob")
        assert (barred["error"]["kind"], rows(barred)) == ("held", dict.fromkeys(ARMS, "refused"))
        assert (await plant.call("@all", "ReleaseArm"))["ok"]
        lower = await plant.call("@all", "SetAuthority", {"authority": "observe"})
        assert rows(lower) == dict.fromkeys(ARMS, "stored")
        assert {plant.session(arm).state.authority.value for arm in ARMS} == {"observe"}
        await plant.call("@all", "SetAuthority", {"authority": "control"})
        one = await plant.call("@all", "ConfirmPending", {"rev": 3})
        assert one["error"]["kind"] == "unsupported_option"
        assert (await plant.call("@all", "DiscardPending", {"all": True}))["ok"]

    play(tmp_path, scenario, arms=ARMS)


def test_plans_are_listed_newest_first(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(5):
            await plant.call("@all", SET, twist(0.2 + number / 100), user="bob" if number % 2 else "u")
        await plant.turn(1.0)

        async def listed(**params: Any) -> tuple[list[int], bool]:
            result = (await plant.call("@all", "ListPlans", params))["result"]
            return [plan["plan"] for plan in result["plans"]], result["more"]

        assert await listed() == ([5, 4, 3, 2, 1], False)
        assert await listed(limit=2) == ([5, 4], True)
        assert await listed(before=4, limit=2) == ([3, 2], True)
        assert await listed(user="bob") == ([4, 2], False)
        assert await listed(state="running") == ([], False)
        assert await listed(kind="group", state="ended", limit=5) == ([5, 4, 3, 2, 1], False)
        page = await told(plant, 1, limit=2)
        assert ([row["arm"] for row in page["rows"]], page["more"]) == (["r11", "r12"], True)
        page = await told(plant, 1, after="r12")
        assert ([row["arm"] for row in page["rows"]], page["more"]) == (["r13"], False)
        assert page["params"] == twist(0.2)
        wrong = await plant.call("@all", "GetPlan", {"plan": 1, "arm": "r99"})
        assert wrong["error"]["kind"] == "unknown_arm"

    play(tmp_path, scenario, arms=ARMS)


def test_ruling_31_a_plan_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path / "a", MANY[:20], **SLOW) as plant:
            plant.send("@all", SET, twist(0.2), id="plan", group={"parallel": 3})
            await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
            await plant.turn(0.5)
            await plant.committed()
            done = [arm for arm in MANY[:20] if plant.session(arm).state.rev == 2]
            assert 0 < len(done) < 20
            left = plant.copy(tmp_path / "b")
            await plant.call("a019", SET, twist(0.1))
        async with Plant(left, MANY[:20], **SLOW, start_us=START_US + 10_000_000) as plant:
            reply = await plant.reply("plan")
            assert reply["plan"] == 1
            await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
            found = await told(plant, 1)
            assert (found["state"], found["outcome"]) == ("ended", "done")
            assert sum(found["counts"].get(state, 0) for state in ("applied", "unchanged")) == 20
            for arm in MANY[:20]:
                changes = (await plant.call(arm, "GetHistory"))["result"]["changes"]
                assert len([change for change in changes if change.get("plan") == 1]) == 1, arm

    run(whole)


def test_what_was_accepted_after_a_plan_wins_over_a_restart(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path / "a", MANY[:20], **SLOW) as plant:
            plant.send("@all", SET, twist(0.2), id="plan", wait="stored", group={"parallel": 1})
            await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
            await plant.call("a019", SET, twist(0.1))
            await plant.committed()
            left = plant.copy(tmp_path / "b")
        async with Plant(left, MANY[:20], **SLOW, start_us=START_US + 10_000_000) as plant:
            await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
            (row,) = (await told(plant, 1, arm="a019"))["rows"]
            assert (row["state"], row["kind"]) == ("refused", "overwritten")

    run(whole)


def test_after_a_long_absence_only_what_tightens_goes_on(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path / "a", MANY[:6], **SLOW) as plant:
            await plant.call("a005", SET, twist(0.1))
            plant.send("@all", SET, twist(0.2), id="plan", wait="stored", group={"parallel": 1})
            await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
            await plant.committed()
            left = plant.copy(tmp_path / "b")
        late_us = START_US + 16 * 60 * 1_000_000
        async with Plant(left, MANY[:6], **SLOW, start_us=late_us) as plant:
            await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
            found = await told(plant, 1)
            states = {row["arm"]: (row["state"], row.get("kind")) for row in found["rows"]}
            assert states["a005"] == ("refused", "expired")
            assert {states[arm][0] for arm in MANY[:5]} <= {"applied", "unchanged"}

    run(whole)


def test_ruling_47_a_plan_that_ends_the_process_three_times_is_quarantined(tmp_path: Path) -> None:
    async def whole() -> None:
        data = tmp_path / "0"
        async with Plant(data, MANY[:6], **SLOW) as plant:
            plant.send("@all", SET, twist(0.2), id="plan", wait="stored", group={"parallel": 1})
            await plant.document("evt/@all/plan", lambda event: event["event"] == "PLAN_STARTED")
            await plant.committed()
            data = plant.copy(tmp_path / "1")
        for start in range(1, STARTS_MOST + 1):
            async with Plant(data, MANY[:6], **SLOW, start_us=START_US + start * 1_000_000) as plant:
                await plant.committed()
                state = plant.service._stage_1.plans.book.find(1).plan.progress
                assert (state.starts, state.outcome) == (start, None if start < STARTS_MOST else "quarantined")
                data = plant.copy(tmp_path / f"{start + 1}")
                if start == STARTS_MOST:
                    found = await told(plant, 1)
                    assert (found["state"], found["outcome"]) == ("ended", "quarantined")
                    assert found["counts"]["skipped"] > 0

    run(whole)


def test_more_than_100_arms_show_what_is_not_done(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("a007", "offline")
        await plant.turn(1.0)
        reply = await plant.call("@all", SET, twist(0.2))
        assert [row["arm"] for row in reply["result"]["rows"]] == ["a007"]
        assert (reply["result"]["more"], reply["result"]["counts"]) == (
            False,
            {"total": 300, "stored": 1, "applied": 299},
        )
        page = await told(plant, 1, limit=500)
        assert (len(page["rows"]), page["more"]) == (300, False)

    play(tmp_path, scenario, arms=MANY)


def test_64_plans_are_live_at_most_and_the_last_of_them_wins_everywhere(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        limits = [0.1 + number / 1_000 for number in range(70)]
        ids = [plant.send("@all", SET, twist(one), wait="stored", group={"parallel": 1}) for one in limits]
        replies = [await plant.reply(one) for one in ids]
        assert [reply["ok"] for reply in replies] == [True] * 64 + [False] * 6
        assert {(reply["error"]["kind"], reply["error"]["retry"]) for reply in replies[64:]} == {("busy", "same_id")}
        assert (await plant.call("@all", SET, twist(0.2), dry_run=True))["stage"] == "checked"
        dry = [plant.send("@all", SET, twist(one), dry_run=True) for one in limits]
        looked_at = [await plant.reply(one) for one in dry]
        assert {reply["error"]["kind"] for reply in looked_at if not reply["ok"]} <= {"busy"}
        await plant.turn(60.0)
        assert plant.service._stage_1.plans.book.plans == {}
        assert plant.service._stage_1.plans.newest.since is None
        found = {round(getattr(plant.session(arm).state.reported[(TWIST, 2)], TWIST), 3) for arm in MANY[:20]}
        assert found == {0.163}

    play(tmp_path, scenario, arms=MANY[:20], sim={"faults": True, "latency_ms": 20})
