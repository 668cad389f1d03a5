"""Parts of our own client alone: the keep alive on a clock of its own, what is written together, packets in pieces."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.link.mqtt5_incoming import Pieces
from broker.link.mqtt5_keepalive import KeepAlive
from broker.link.mqtt5_outgoing import Outgoing
from broker.link.mqtt5_packets import PING, varint
from broker.link.mqtt5_reader import FramingError, UnreadableError, frame_length, read_varint
from broker.link.outbound import Outbound
from tests.raw_publish import with_length
from tests.virtual_plant import run


class Wire(asyncio.Transport):
    """Keeps what is written, write by write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """See `asyncio.Transport`."""
        self.writes.append(bytes(data))

    def is_closing(self) -> bool:
        """See `asyncio.Transport`."""
        return False


class Watched:
    """A keep alive of 10 s on the virtual clock; `gone` is when it gave up, in s from its start."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.wire = Wire()
        self.outgoing = Outgoing(self.loop)
        self.outgoing.transport = self.wire
        self.gone: list[float] = []
        began_s = self.loop.time()
        self.keepalive = KeepAlive(self.loop, self.outgoing, lambda: self.gone.append(self.loop.time() - began_s))
        self.keepalive.start(10)

    @property
    def pings(self) -> int:
        """How often it asked."""
        return self.wire.writes.count(PING)

    def answered(self) -> None:
        """The server said something to what it was asked."""
        self.keepalive.answered_s = self.loop.time()


def watch(scenario: Callable[[Watched], object]) -> None:
    """Run a scenario, a coroutine function, on a clock that jumps."""

    async def whole() -> None:
        watched = Watched()
        await scenario(watched)  # type: ignore[misc] # a coroutine
        watched.keepalive.stop()

    run(whole)


def test_a_server_that_answers_is_asked_within_the_keep_alive_and_kept() -> None:
    async def scenario(watched: Watched) -> None:
        for _ in range(100):
            pings = watched.pings
            await asyncio.sleep(1)
            if watched.pings > pings:
                watched.answered()
        assert 10 <= watched.pings <= 25
        assert watched.gone == []

    watch(scenario)


def test_a_server_that_answers_nothing_is_gone_after_one_and_a_half_keep_alives_at_most() -> None:
    async def scenario(watched: Watched) -> None:
        await asyncio.sleep(60)
        assert len(watched.gone) == 1
        assert 10 <= watched.gone[0] <= 15.1

    watch(scenario)


def test_messages_of_a_server_are_no_answer() -> None:
    """One that sends and never listens would keep everything that is published waiting."""

    async def scenario(watched: Watched) -> None:
        for _ in range(60):
            await asyncio.sleep(1)
            watched.outgoing.send(b"\x40\x02\x00\x01")
        assert watched.gone != []

    watch(scenario)


def test_a_server_that_is_not_listened_to_is_not_gone() -> None:
    async def scenario(watched: Watched) -> None:
        watched.keepalive.listening = False
        await asyncio.sleep(100)
        assert watched.gone == []
        assert watched.pings >= 10
        watched.keepalive.listening = True
        await asyncio.sleep(30)
        assert len(watched.gone) == 1

    watch(scenario)


def test_after_a_stop_of_the_process_the_server_is_asked_first() -> None:
    async def scenario(watched: Watched) -> None:
        watched.answered()
        watched.keepalive.answered_s -= 1_000
        pings = watched.pings
        await asyncio.sleep(5.5)
        assert (watched.gone, watched.pings) == ([], pings + 1)

    watch(scenario)


def test_a_process_that_stood_still_after_it_asked_asks_again_first() -> None:
    async def scenario(watched: Watched) -> None:
        await asyncio.sleep(5.5)
        assert watched.pings == 1
        watched.keepalive._asked_s -= 1_000
        watched.keepalive.answered_s -= 1_000
        await asyncio.sleep(5.5)
        assert (watched.gone, watched.pings) == ([], 2)
        watched.answered()
        await asyncio.sleep(5.5)
        assert watched.gone == []

    watch(scenario)


async def test_everything_of_a_turn_leaves_in_one_write() -> None:
    outgoing, wire = Outgoing(asyncio.get_running_loop()), Wire()
    outgoing.transport = wire
    for number in range(5):
        outgoing.publish(Outbound("a", b"%d" % number), b"")
        outgoing.send(b"\x40\x02\x00\x01")
    assert wire.writes == []
    await asyncio.sleep(0)
    assert len(wire.writes) == 1
    assert wire.writes[0].count(b"\x40\x02\x00\x01") == 5


async def test_packet_ids_go_round_past_those_in_use() -> None:
    outgoing = Outgoing(asyncio.get_running_loop())
    outgoing.publish(Outbound("a", b""), b"")
    ids = {outgoing.next_id() for _ in range(65_534)}
    assert ids == set(range(2, 65_536))
    assert outgoing.next_id() == 2


@given(st.integers(0, 268_435_455))
def test_lengths_are_read_as_they_are_written(number: int) -> None:
    written = varint(number)
    assert written == with_length(bytes(number))[: len(written)] if number < 100_000 else len(written) in {3, 4}
    assert read_varint(written, 0) == (number, len(written))
    packet = b"\x30" + written
    assert frame_length(packet, 0, len(packet)) == (number, len(packet))
    for end in range(1, len(packet)):
        assert frame_length(packet, 0, end) == (0, 0)


def test_a_length_of_five_bytes_is_none() -> None:
    with pytest.raises(FramingError):
        frame_length(b"\x30\xff\xff\xff\xff\x01", 0, 6)
    with pytest.raises(UnreadableError):
        read_varint(b"\xff\xff\xff\xff\x01", 0)


def test_pieces_are_joined_once_they_are_enough() -> None:
    pieces = Pieces()
    pieces.keep(pieces.join(b"abc"), 5)
    assert pieces.join(b"de") == b""
    assert pieces.join(b"fgh") == b"abcdefgh"
    pieces.skip(4)
    assert pieces.join(b"ij") == b""
    assert pieces.join(b"klmn") == b"mn"
