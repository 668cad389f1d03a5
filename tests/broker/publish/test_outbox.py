"""The outbox: order, bounds, and what a lost connection does to it."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

import pytest
import structlog
from structlog.testing import LogCapture

from broker.counters import Counters
from broker.link.mqtt_link import LinkFullError, LinkRejectedError
from broker.link.outbound import Outbound
from broker.publish.outbox import IN_FLIGHT, Outbox, Publication, Watched
from tests.memory_link import MemoryLink
from tests.virtual_plant import run


class ChoosyLink(MemoryLink):
    """A link that has room for so many publications only, and refuses some topics."""

    room = 1_000_000

    def give(self, message: Outbound) -> None:
        """As `MqttLink`; raises what the topic asks for."""
        if message.topic == "bad":
            raise LinkRejectedError("bad")
        if len(self.published) >= self.room:
            raise LinkFullError("full")
        super().give(message)


class Bench:
    """An outbox on a link, and what was marked as done."""

    def __init__(self, *, silent: bool = False) -> None:
        loop = asyncio.get_running_loop()
        self.link = ChoosyLink(loop, silent=silent)
        self.counters = Counters(loop.time)
        self.outbox = Outbox(self.link, loop, self.counters)
        self.done: list[str] = []

    def send(self, *topics: str) -> None:
        """Send one publication each."""
        for topic in topics:
            self.outbox.send(Watched(topic, b"", on_taken=partial(self.done.append, topic)))

    @property
    def refused(self) -> int:
        """How many publications were given up."""
        return self.counters.totals()["publication_refused"]

    @property
    def sent(self) -> list[str]:
        """The topics in the order of sending."""
        return [published.topic for published in self.link.published]


def test_what_is_sent_before_the_connection_waits_for_it() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.send("a", "b")
        assert bench.sent == []
        bench.link.restore(present=True)
        await bench.outbox.drained()
        assert bench.sent == bench.done == ["a", "b"]

    run(scenario)


def test_only_so_many_are_under_way() -> None:
    async def scenario() -> None:
        bench = Bench(silent=True)
        bench.link.restore(present=True)
        bench.send(*map(str, range(IN_FLIGHT + 5)))
        assert len(bench.sent) == IN_FLIGHT
        assert bench.outbox.backlog == IN_FLIGHT + 5
        bench.link.answer()
        await bench.outbox.drained()
        assert bench.sent == bench.done == list(map(str, range(IN_FLIGHT + 5)))

    run(scenario)


def test_after_a_loss_everything_not_marked_goes_again_in_order() -> None:
    async def scenario() -> None:
        bench = Bench(silent=True)
        bench.link.restore(present=True)
        bench.send("a", "b", "c")
        bench.link.answer(1)
        bench.link.answer(1, skip=1)
        bench.link.lose()
        bench.send("d")
        bench.link.silent = False
        bench.link.restore(present=True)
        await bench.outbox.drained()
        assert bench.sent == ["a", "b", "c", "b", "c", "d"]
        assert bench.done == ["a", "b", "c", "d"]

    run(scenario)


def test_what_cannot_be_published_does_not_stand_in_the_way() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.link.restore(present=True)
        bench.send("a", "bad", "b")
        await bench.outbox.drained()
        assert (bench.sent, bench.done, bench.refused) == (["a", "b"], ["a", "bad", "b"], 1)

    run(scenario)


def test_a_full_link_is_tried_again() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.link.room = 1
        bench.link.restore(present=True)
        bench.send("a", "b")
        await asyncio.sleep(1.0)
        assert bench.sent == ["a"]
        bench.link.room = 2
        await bench.outbox.drained()
        assert bench.done == ["a", "b"]

    run(scenario)


def test_a_refused_publication_is_given_up() -> None:
    async def scenario() -> None:
        bench = Bench(silent=True)
        bench.link.restore(present=True)
        bench.send("a", "b")
        bench.link.answer(1, code=0x87)
        bench.link.answer(1)
        await bench.outbox.drained()
        assert (bench.done, bench.refused) == (["a", "b"], 1)

    run(scenario)


def test_a_closed_outbox_publishes_nothing() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.link.restore(present=True)
        bench.outbox.close()
        bench.send("a")
        await asyncio.sleep(1.0)
        assert bench.sent == []
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(bench.outbox.drained(), 1.0)

    run(scenario)


def test_refusals_of_the_server_are_counted_and_logged_once_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = LogCapture()
    monkeypatch.setattr("broker.counters.log", structlog.wrap_logger(None, processors=[logs]))

    async def scenario() -> None:
        bench = Bench(silent=True)
        bench.link.restore(present=True)
        codes = {"a": 0x87, "b": 0x95, "c": 0x87, "d": 0xA3, "e": 0x10}
        bench.send(*codes)
        for code in codes.values():
            bench.link.answer(1, code=code if code >= 0x80 else 0)
        await bench.outbox.drained()
        assert (bench.done, bench.refused) == (list(codes), 4)
        assert [entry["user"] for entry in logs.entries] == [
            "0x87 not authorized",
            "0x95 packet too large",
            "0xa3 unknown",
        ]

    run(scenario)


def test_what_is_larger_than_a_packet_is_shortened_and_loses_its_correlation_only_where_nothing_else_fits() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.link.max_packet = 2_000
        rooms: list[int] = []

        def shorten(room: int) -> bytes:
            rooms.append(room)
            return b"12345"

        fits = Watched("t", b"1" * 900, correlation=b"c" * 1_000, shorten=shorten)
        long = Watched("t", b"1" * 1_100, correlation=b"c" * 1_000, shorten=shorten)
        longer = Watched("t", b"1" * 4_000, correlation=b"c" * 1_900, shorten=shorten)
        plain = Publication("t", b"1" * 4_000)
        assert [len(bench.outbox.fitted(one)) for one in (fits, long, plain)] == [900, 5, 4_000]
        rooms.clear()
        bench.link.restore(present=True)
        for publication in (fits, long, longer, plain):
            bench.outbox.send(publication)
        await bench.outbox.drained()
        assert [len(one.payload) for one in (fits, long, longer, plain)] == [900, 5, 5, 4_000]
        assert [len(one.correlation) for one in (fits, long, longer)] == [1_000, 1_000, 0]
        assert rooms == [bench.outbox.room(long), bench.outbox.room(longer)]
        assert 900 < rooms[0] < 1_000

    run(scenario)


def test_what_is_gathered_is_published_at_the_next_pump() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.link.restore(present=True)
        bench.outbox.gather()
        bench.send("a", "b")
        assert bench.sent == []
        bench.outbox.pump()
        bench.send("c")
        assert bench.sent == ["a", "b", "c"]

    run(scenario)


class TellingLink(ChoosyLink):
    """A link that says when receipts are settled."""

    told: Callable[[], None]

    def on_receipts(self, callback: Callable[[], None]) -> bool:
        """See `MqttLink`."""
        self.told = callback
        return True


def test_receipts_of_a_link_that_tells_are_looked_at_when_it_does() -> None:
    async def scenario() -> None:
        link = TellingLink(asyncio.get_running_loop(), silent=True)
        link.restore(present=True)
        outbox, done = Outbox(link, asyncio.get_running_loop(), Counters(time.monotonic)), list[str]()
        for number in range(IN_FLIGHT + 2):
            outbox.send(Watched(f"{number}", b"", on_taken=partial(done.append, f"{number}")))
        link.answer(2)
        await asyncio.sleep(10.0)
        assert (done, len(link.published)) == ([], IN_FLIGHT)
        link.told()
        assert (done, len(link.published)) == (["0", "1"], IN_FLIGHT + 2)

    run(scenario)
