"""A service shows that it is there, and of several on one root exactly one stays."""

import asyncio
import json
from itertools import pairwise

import pytest

from broker.counters import COUNTERS
from broker.link.mqtt_link import LinkConfig
from broker.presence.document import HEARTBEAT_S, SILENT_S
from broker.presence.presence import DOUBT_S, PATIENCE_S
from schema.codecs.times import parse_time
from tests.broker.presence.hub import TOPICS, Hub, Starter, on_a_hub

MARGIN_S = 1.0


def test_the_document_has_every_field() -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub, epoch=7).until_decided()
        document = hub.document()
        assert set(document) == {"state", "since", "seen_at", "version", "epoch", "start", "counters", "clock"}
        assert (document["state"], document["epoch"], document["clock"]) == ("online", 7, {"state": "ok", "seconds": 0})
        assert document["start"] == one.presence.identity.start
        assert len(document["start"]) == 16
        assert document["counters"] == dict.fromkeys(COUNTERS, 0)
        await one.stop()
        assert (hub.document()["state"], hub.document()["start"]) == ("offline", one.presence.identity.start)

    on_a_hub(scenario)


def test_it_is_seen_anew_every_ten_seconds_while_the_requests_can_come() -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub).until_decided()
        since, seen = hub.document()["since"], []
        for _ in range(6):
            await asyncio.sleep(HEARTBEAT_S)
            seen.append(parse_time(hub.document()["seen_at"]))
        steps = [(later - earlier) / 1e6 for earlier, later in pairwise(seen)]
        assert steps == pytest.approx([HEARTBEAT_S] * 5, abs=0.01)
        assert hub.document()["since"] == since
        one.main.lose()
        await asyncio.sleep(SILENT_S)
        assert parse_time(hub.document()["seen_at"]) == seen[-1]
        one.main.restore(present=True)
        await asyncio.sleep(HEARTBEAT_S)
        assert parse_time(hub.document()["seen_at"]) > seen[-1]
        await one.stop()

    on_a_hub(scenario)


def test_the_will_and_the_connection_are_its_own() -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub, "north").until_decided()
        will = one.presence.will()
        document = json.loads(will.payload)
        assert (will.topic, document["state"], document["start"]) == (
            "armbroker/v1/svc/north", "offline", one.presence.identity.start,
        )  # fmt: skip
        main = LinkConfig(url="mqtt://h", client_id="c", filters=("a",), user="u", will=will)
        own = one.presence.config(main)
        assert (own.user, own.will, own.session_expiry_s, own.filters) == ("u", None, 0, (TOPICS.service("+"),))
        assert own.client_id not in ("c", "c-dev")
        await one.stop()

    on_a_hub(scenario)


@pytest.mark.parametrize("instance", ["main", "other"])
def test_a_second_one_ends_at_once_and_the_first_one_stays(instance: str) -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub).until_decided()
        began_s = asyncio.get_running_loop().time()
        two = await Starter(hub, instance, epoch=99).until_decided()
        assert not two.serving.is_set()
        assert one.presence.identity.start in str(two.ended)
        assert asyncio.get_running_loop().time() - began_s < MARGIN_S
        await asyncio.sleep(2 * HEARTBEAT_S)
        assert one.ended is None
        assert hub.document()["start"] == one.presence.identity.start
        assert hub.document()["state"] == "online"
        assert hub.document(instance)["state"] == ("online" if instance == "main" else "offline")
        await one.stop()

    on_a_hub(scenario)


@pytest.mark.parametrize("instance", ["main", "other"])
@pytest.mark.parametrize("count", [2, 5])
def test_of_several_that_start_at_once_exactly_one_stays(instance: str, count: int) -> None:
    async def scenario(hub: Hub) -> None:
        starters = [Starter(hub, "main" if number % 2 else instance, epoch=number) for number in range(count)]
        await asyncio.gather(*(starter.until_decided() for starter in starters))
        await asyncio.sleep(3 * HEARTBEAT_S)
        staying = [starter for starter in starters if starter.ended is None]
        assert len(staying) == 1
        assert staying[0].serving.is_set()
        await staying[0].stop()

    on_a_hub(scenario)


def test_a_crashed_predecessor_on_the_same_store_is_not_waited_for() -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub).until_decided()
        document = hub.retained["svc/main"]
        await one.stop()
        hub.retained["svc/main"] = document
        began_s = asyncio.get_running_loop().time()
        two = await Starter(hub, known=frozenset({one.presence.identity.start})).until_decided()
        assert two.serving.is_set()
        assert asyncio.get_running_loop().time() - began_s < MARGIN_S
        await two.stop()

    on_a_hub(scenario)


def test_a_document_that_nobody_stands_behind_is_waited_for_once() -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub, "gone").until_decided()
        document = hub.retained["svc/gone"]
        await one.stop()
        hub.retained["svc/gone"] = document
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        two = await Starter(hub).until_decided()
        assert two.serving.is_set()
        assert loop.time() - began_s == pytest.approx(PATIENCE_S, abs=MARGIN_S)
        assert hub.document("gone")["state"] == "offline"
        await two.stop()
        began_s = loop.time()
        three = await Starter(hub).until_decided()
        assert loop.time() - began_s < MARGIN_S
        await three.stop()

    on_a_hub(scenario)


def test_a_document_of_an_earlier_version_or_none_at_all_keeps_nobody_from_starting() -> None:
    async def scenario(hub: Hub) -> None:
        hub.retained["svc/old"] = b'{"state":"online","since":"2026-11-30T09:12:04.512345Z","version":"1","epoch":41}'
        hub.retained["svc/wrong"] = b"[1"
        hub.retained["svc/empty"] = b""
        one = await Starter(hub).until_decided()
        assert one.serving.is_set()
        assert one.presence.highest_epoch == 41
        await one.stop()

    on_a_hub(scenario)


def test_who_takes_over_waits_for_the_end_of_who_was_there() -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub, epoch=50).until_decided()
        two = await Starter(hub, "other", take_over=True).until_decided()
        assert two.serving.is_set()
        assert one.ended is not None
        assert two.presence.identity.start in str(one.ended)
        await asyncio.sleep(2 * HEARTBEAT_S)
        assert two.ended is None
        assert (hub.document("main")["state"], hub.document("other")["state"]) == ("offline", "online")
        await two.stop()

    on_a_hub(scenario)


@pytest.mark.parametrize("count", [2, 4])
def test_of_several_that_take_over_at_once_exactly_one_stays(count: int) -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub, epoch=50).until_decided()
        others = [Starter(hub, f"other-{number}", take_over=True) for number in range(count)]
        await asyncio.gather(*(other.until_decided() for other in others))
        await asyncio.sleep(PATIENCE_S)
        staying = [starter for starter in (one, *others) if starter.ended is None]
        assert len(staying) == 1
        assert one.ended is not None
        await staying[0].stop()

    on_a_hub(scenario)


@pytest.mark.parametrize(("epochs", "stays"), [((1, 2), 1), ((2, 1), 0), ((1, 1), 0)])
def test_one_that_comes_back_ends_or_the_other_does_but_one_stays(epochs: tuple[int, int], stays: int) -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub, epoch=epochs[0]).until_decided()
        one.freeze()
        await asyncio.sleep(1.0)
        two = await Starter(hub, "other", epoch=epochs[1]).until_decided()
        assert two.serving.is_set()
        one.watch.restore(present=False)
        await asyncio.sleep(2 * HEARTBEAT_S)
        both = (one, two)
        assert both[stays].ended is None
        assert both[1 - stays].ended is not None
        await both[stays].stop()

    on_a_hub(scenario)


def test_after_standing_still_nothing_is_done_before_it_is_sure() -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub, epoch=1).until_decided()
        one.freeze()
        two = await Starter(hub, epoch=2).until_decided()
        assert two.serving.is_set()
        one.presence.pulse.close()
        one.presence.pulse.last_s -= 2 * DOUBT_S
        assert not one.presence.sure
        made_sure = asyncio.create_task(one.presence.made_sure())
        one.watch.restore(present=False)
        await asyncio.sleep(HEARTBEAT_S)
        assert one.ended is not None
        assert not made_sure.done()
        made_sure.cancel()
        await two.stop()

    on_a_hub(scenario)


def test_a_new_connection_of_the_requests_is_used_once_it_is_sure() -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub).until_decided()
        states = [one.presence.sure]
        one.main.lose()
        one.main.restore(present=True)
        states.append(one.presence.sure)
        await one.presence.made_sure()
        states.append(one.presence.sure)
        assert states == [True, False, True]
        await one.stop()

    on_a_hub(scenario)


def test_a_service_that_may_not_read_the_documents_serves_all_the_same() -> None:
    async def scenario(hub: Hub) -> None:
        hub.deaf = True
        one = await Starter(hub).until_decided()
        assert one.serving.is_set()
        one.main.lose()
        one.main.restore(present=True)
        await one.presence.made_sure()
        await one.stop()

    on_a_hub(scenario)


def test_what_others_write_on_its_topic_does_not_stand() -> None:
    async def scenario(hub: Hub) -> None:
        one = await Starter(hub).until_decided()
        for payload in (b"", b"nonsense", one.presence.will().payload, b'{"state":"offline"}'):
            hub.publish("svc/main", payload)
            await asyncio.sleep(0.1)
            assert hub.document()["state"] == "online"
        await one.stop()

    on_a_hub(scenario)


def test_an_end_while_it_claims_says_so() -> None:
    async def scenario(hub: Hub) -> None:
        hub.retained["svc/gone"] = b'{"state":"online","start":"0123456789abcdef"}'
        one = Starter(hub)
        await asyncio.sleep(1.0)
        assert hub.document()["state"] == "starting"
        await one.stop()
        assert hub.document()["state"] == "offline"

    on_a_hub(scenario)
