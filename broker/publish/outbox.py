"""Committed rows become publications: in order, bounded in flight, marked when the MQTT server took them."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

import structlog

from broker.counters import Counters
from broker.link.mqtt_link import LinkDownError, LinkFullError, LinkRejectedError, MqttLink, reason_text
from broker.link.outbound import LOST, OPEN, TAKEN, Outbound
from broker.logs import write_waiting

IN_FLIGHT = 100
TOLD_OF = 4
"""Of so many publications that are timed the time of one is told."""
SWEEP_S = 0.005
"""How often finished publications are looked for while nothing else happens."""

_HEADERS = 32
"""Bytes of a PUBLISH that do not depend on its texts, at most: types, lengths, packet identifier, expiry."""
_OVERHEAD_MOST = 2_000
"""Bytes of a PUBLISH beside its payload and its Correlation Data, at most."""
_TRACE = 80
"""Bytes of a `traceparent`, at most."""
LEAST_ROOM = 600
"""Bytes that a reply needs to say anything."""

log = structlog.get_logger()


class Publication(Outbound, eq=False):
    """One publication; those that are `watched` do something once they are taken."""

    watched: bool = False

    def taken(self) -> None:
        """The MQTT server took it, or refused it for good."""

    def shortened(self, room: int) -> bytes:
        """A payload of at most so many bytes, where that can be, for an MQTT server that takes no larger packet."""
        del room
        return self.payload

    def overhead(self) -> int:
        """Bytes of its packet beside the payload, at most: header, topic, and properties."""
        traced = _TRACE if self.trace else 0
        return _HEADERS + len(self.topic) + len(self.content_type) + len(self.correlation) + traced


class Watched(Publication, eq=False):
    """A publication that has functions called when it is taken, and when it has to be shorter."""

    watched: bool = True
    on_taken: Callable[[], None] | None = None
    shorten: Callable[[int], bytes] | None = None

    def taken(self) -> None:
        """See `Publication.taken`."""
        if self.on_taken is not None:
            self.on_taken()

    def shortened(self, room: int) -> bytes:
        """See `Publication.shortened`."""
        return self.payload if self.shorten is None else self.shorten(room)


class Outbox:
    """Publishes in the order given, on one connection; re-sends in that order what a lost connection swallowed."""

    def __init__(
        self,
        link: MqttLink,
        loop: asyncio.AbstractEventLoop,
        counters: Counters,
        monotonic: Callable[[], float] | None = None,
    ) -> None:
        self._link, self._monotonic = link, monotonic or loop.time
        self._loop = loop
        self._counters = counters
        self._waiting: deque[Publication] = deque()
        self._under_way: deque[Publication] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()
        self._closed = self._gathering = False
        self.on_published: Callable[[float], None] = lambda _: None
        """Told how many seconds a publication took: of one at a time every fourth; set by the composition root."""
        self._timed: Publication | None = None
        self._timed_s, self._untold = 0.0, TOLD_OF
        self.on_room: Callable[[], None] | None = None
        """Asks for more, when there is little left; set by who has it, while there is any."""
        self.live = 0
        """Replies, events and notices given so far: what shows that the service is at work."""
        link.on_session(lambda _present: self.pump())
        self.backlog = 0
        """Publications not yet taken by the MQTT server."""
        self._told = link.on_receipts(self.pump)
        """Whether the link tells when receipts are settled; else they are looked at every now and then."""

    @property
    def oldest_s(self) -> float:
        """How long a publication has been waiting that is nearly the oldest of those not yet taken; 0 of none."""
        return 0.0 if self._timed is None else self._monotonic() - self._timed_s

    def holds(self, most: int) -> bool:
        """Whether so many publications wait for the MQTT server, which is listened to: waiting makes them fewer."""
        return self.backlog >= most and not self._link.deaf

    def clear(self, most: int) -> bool:
        """Whether fewer publications wait than so many, and nobody has more that come first."""
        return self.backlog < most and self.on_room is None

    def room(self, publication: Publication) -> int:
        """Bytes that its payload may have."""
        return self._link.max_packet - publication.overhead()

    def page_room(self) -> int:
        """Bytes that the rows of a page may have, so that the reply with it is not shortened."""
        return max(LEAST_ROOM, self._link.max_packet - _OVERHEAD_MOST - LEAST_ROOM)

    def send(self, publication: Publication) -> None:
        """Publish after everything given before."""
        self._waiting.append(publication)
        self.backlog += 1
        if self._timed is None:
            self._timed, self._timed_s = publication, self._monotonic()
        self.live += not publication.retain
        if self.backlog == 1:
            self._idle.clear()
        if not self._gathering:
            self.pump()

    def send_all(self, publications: Iterable[Publication]) -> None:
        """Publish all of these after everything given before, in one write."""
        gathering = self._gathering
        self.gather()
        for publication in publications:
            self.send(publication)
        if not gathering:
            self.pump()
            self.flush()

    def gather(self) -> None:
        """Publish nothing until `pump`, and send nothing until `flush`: more is about to be told."""
        self._gathering = True
        self._link.hold()

    def flush(self) -> None:
        """Send at once what was published, and acknowledged."""
        self._link.flush()

    def all_told(self) -> None:
        """What commits had to tell leaves: publications and acknowledgements, then the lines of the log."""
        self.flush()
        write_waiting()

    def pump(self) -> None:
        """Mark what is done, publish what may be published."""
        self._gathering = False
        if self._closed:
            return
        self._sweep()
        if self.on_room is not None and len(self._waiting) < IN_FLIGHT and self._link.connected:
            self.on_room()
        if self._waiting:
            self._publish(IN_FLIGHT - len(self._under_way))
            self._sweep()
        wanted = not self._told and self._timer is None
        if wanted and (self._under_way or (self._waiting and self._link.connected)):
            self._timer = self._loop.call_later(SWEEP_S, self._on_timer)
        if not self.backlog:
            self._idle.set()

    def _publish(self, most: int) -> None:
        """Publish so many of those that wait, or as many as the link takes."""
        waiting, under_way, give = self._waiting, self._under_way, self._link.give
        sure_to_fit = self._link.max_packet - _OVERHEAD_MOST
        while waiting and most > 0:
            publication = waiting[0]
            size, correlation = len(publication.payload), publication.correlation
            if size > sure_to_fit or (correlation and size + len(correlation) > sure_to_fit):
                self._shorten(publication)
            try:
                give(publication)
            except (LinkDownError, LinkFullError):
                break
            except LinkRejectedError as error:
                self._tell_refused(publication, "cannot be sent", str(error))
                publication.code = TAKEN
            waiting.popleft()
            under_way.append(publication)
            most -= 1

    def fitted(self, publication: Publication) -> bytes:
        """What would be sent of it: the payload, or as much as fits into a packet."""
        room = self.room(publication)
        return publication.payload if len(publication.payload) <= room else publication.shortened(max(0, room))

    def _shorten(self, publication: Publication) -> None:
        """Make it fit into a packet, without its Correlation Data where that leaves no room for anything else."""
        if len(publication.payload) <= self.room(publication):
            return
        if publication.correlation and self.room(publication) < LEAST_ROOM:
            publication.correlation = b""
        room, size = self.room(publication), len(publication.payload)
        if size > room and (payload := publication.shortened(max(0, room))) is not publication.payload:
            publication.payload = payload
            log.info("publication_shortened", topic=publication.topic, bytes=size, to=len(payload), room=room)

    async def drained(self) -> None:
        """Return once nothing waits and nothing is under way."""
        await self._idle.wait()

    def close(self) -> None:
        """Mark what was taken, and publish nothing more: what is not marked is sent again by the next start."""
        self._sweep()
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _on_timer(self) -> None:
        self._timer = None
        self.pump()

    def _sweep(self) -> None:
        """Take finished publications from the front; a failed one and all behind it go back to wait, in order."""
        under_way = self._under_way
        while under_way and (code := under_way[0].code) != OPEN:
            if code == LOST:
                self._put_back()
                return
            publication = under_way.popleft()
            self.backlog -= 1
            if code:
                self._tell_refused(publication, reason_text(code))
            if publication is self._timed:
                self._timed = None
                self._untold += 1
                if self._untold > TOLD_OF:
                    self._untold = 1
                    self.on_published(self._monotonic() - self._timed_s)
            if publication.watched:
                publication.taken()

    def _put_back(self) -> None:
        """After a lost connection: everything not marked waits again, in order."""
        self._waiting.extendleft(reversed(self._under_way))
        self._under_way.clear()

    def _tell_refused(self, publication: Publication, reason: str, why: str = "") -> None:
        """It is given up, and marked in its turn like those that were taken."""
        self._counters.add("publication_refused", reason)
        log.debug("publication_refused", topic=publication.topic, why=why or reason)
