"""The retained documents of an arm: built when sent, coalesced, after the events they contain."""

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from heapq import heappop, heappush
from typing import Any

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.clock import Clock
from broker.publish.comparison import FACTSHEET, Comparison, Key, digest
from broker.publish.contents import BUILDERS, CONFIG, EFFECTIVE, LIMITING, NAMES, PRESENCE, Build, with_effective
from broker.publish.outbox import Outbox, Watched
from broker.publish.shortening import shortener
from broker.topics import Topics
from handlers.overrides.documents import override_documents
from schema.codecs.codec import Codec
from schema.codecs.times import format_time

log = structlog.get_logger()

GAP_S = 0.1
"""Least time between two sendings of one document under load."""
EFFECTIVE_GAP_S = 3.0
"""The same of the effective limits, the largest document by far."""
SLICE_S, BESIDE_S = 0.002, 0.001
"""How long documents are made without a pause, and while replies or events are given: requests wait meanwhile."""
PAUSE_MOST = 14
"""The longest pause after a slice, as a multiple of it: one for each reply or event that was given meanwhile."""
YIELD_S, YIELDS = 0.001, 5
"""How often it is looked whether somebody still waits for a commit before documents are made, and how many times."""
REST_S = 0.05
"""How long a first change waits for others, of this document and of other arms: those of a moment go together."""
LOADED, FULL_S = 32, 0.01
"""Publications waiting from which documents give way to replies and events, and for how long at least."""
WARM_ARMS = 128
"""Of so many arms the limits and items are kept as they were made; of others they are made anew when asked for."""
AGAIN_S = 1.0
"""How long a comparison waits for arms that were not tried yet, and for what is to be sent, before it looks again."""
UNMET_TRIES = 60
"""How often at most: then an arm that was not tried yet is told of as it is."""

LOOKS = 500
"""So many documents are looked at without a pause where none of them is to be made."""

_BEHIND_S = {PRESENCE: -3600.0, EFFECTIVE: 1.0, FACTSHEET: 1.0}
"""How much later than others a document of the same moment is sent: who is there comes first, the largest last."""


class Agenda:
    """Documents that changed, each once: a choice costs the logarithm of their number. Times in seconds of one clock.

    What is under way (`take` to `taken`) is not given again meanwhile.
    """

    def __init__(self) -> None:
        self.due: dict[Key, float] = {}
        """Those that are to be sent, and when; read by others."""
        self._later: list[tuple[float, float, Key]] = []
        self._ready: list[tuple[float, float, Key]] = []
        self._under_way: set[Key] = set()
        self._again: set[Key] = set()

    def __len__(self) -> int:
        """How many are to be sent."""
        return len(self.due)

    def __contains__(self, key: Key) -> bool:
        """Whether a document is to be sent, or under way."""
        return key in self.due or key in self._under_way

    def add(self, key: Key, due: float, behind: float = 0.0) -> bool:
        """Send a document at `due`, in the order of due times and of what it stands behind; false if it was there."""
        if key in self.due:
            return False
        self.due[key] = due
        heappush(self._later, (due, behind, key))
        return True

    def take(self, now: float) -> Key | None:
        """The next document to be sent now; None if there is none. `taken` has to follow."""
        while self._later and self._later[0][0] <= now:
            due, behind, key = heappop(self._later)
            heappush(self._ready, (due + behind, due, key))
        while self._ready:
            _, due, key = heappop(self._ready)
            if self.due.get(key) != due:
                continue
            if key in self._under_way:
                self._again.add(key)
                continue
            del self.due[key]
            self._under_way.add(key)
            return key
        return None

    def start(self, key: Key) -> None:
        """A document is under way that nobody marked."""
        self._under_way.add(key)

    def taken(self, key: Key) -> bool:
        """A document is under way no longer; whether it is to be sent again, which was put off till now."""
        self._under_way.discard(key)
        if key not in self._again:
            return False
        self._again.discard(key)
        if (due := self.due.get(key)) is None:
            return False
        heappush(self._ready, (due, due, key))
        return True

    def next_due(self) -> float | None:
        """When something is due; None while nothing is, or only what waits for what is under way."""
        if self._ready:
            return self._ready[0][1]
        return self._later[0][0] if self._later else None

    def forget(self, arm: str) -> None:
        """Send no more documents of an arm."""
        for key in [key for key in self.due if key.arm == arm]:
            del self.due[key]


class Documents:
    """Sends documents that changed, at most one per 100 ms of each under load; what is retained and right is left.

    `builders` make more of them than those below `state/`. `held` keeps all of them back until `compare` or `release`.
    """

    def __init__(
        self,
        *,
        outbox: Outbox,
        clock: Clock,
        epoch: int,
        instance: str,
        topics: Topics,
        codec: Codec,
        loop: asyncio.AbstractEventLoop,
        builders: Mapping[str, Build] = BUILDERS,
        held: bool = False,
    ) -> None:
        self._outbox, self._clock, self.epoch = outbox, clock, epoch
        self._instance, self._topics = instance, topics
        self._codec, self._loop = codec, loop
        self._builders, self._held = builders, held
        self._agenda = Agenda()
        self._sent: dict[Key, float] = {}
        self._sessions: dict[str, ArmSession] = {}
        self._factsheets: dict[str, int] = {}
        """What was said of each arm last: it is told of more often than it changes."""
        self._warm: dict[str, ArmSession] = {}
        """The arms whose documents were made last, the oldest first."""
        self._comparison: Comparison | None = None
        self._rest: Iterator[tuple[ArmSession, str]] | None = None
        self._put_off: list[tuple[ArmSession, str]] = []
        self._tries = 0
        self._timer: asyncio.TimerHandle | None = None
        self._looks_at = math.inf
        """When `_timer` rings."""
        self._closed, self._live, self._slice_s, self._yielded = False, 0, SLICE_S, 0
        self.touched: dict[str, object] = {}
        """Arms that something changed of since somebody put another one here."""
        self.on_touched: Callable[[], None] = lambda: None
        """Called for the first of them, and when nothing is kept back any more."""
        self.after_commit: Callable[[Callable[[], None]], None] = lambda callback: callback()
        """How to wait for the commit of what a document was built from; set by the composition root."""
        self.awaited: Callable[[], bool] = lambda: False
        """Whether somebody waits for a commit, who comes first; set by the composition root."""

    def mark(self, session: ArmSession, *names: str) -> None:
        """Some documents of an arm changed."""
        arm, waiting = session.arm, self._agenda.due
        self._sessions[arm] = session
        if arm not in self.touched:
            if not self.touched:
                self.on_touched()
            self.touched[arm] = None
        for name in with_effective(names):
            if (arm, name) in waiting:
                continue
            key, now = Key(arm, name), self._loop.time()
            gap_s = EFFECTIVE_GAP_S if name == EFFECTIVE else GAP_S
            due = max(now + REST_S, self._sent.get(key, 0.0) + gap_s)
            if self._agenda.add(key, due, _BEHIND_S.get(name, 0.0)) and due < self._looks_at:
                self._look_at(due)

    def forget(self, arm: str) -> None:
        """Send no more documents of an arm."""
        self._agenda.forget(arm)
        if not self.touched:
            self.on_touched()
        self.touched[arm] = None
        self._factsheets.pop(arm, None)
        self._warm.pop(arm, None)
        self._sessions.pop(arm, None)

    def close(self) -> None:
        """Send nothing more: the next start compares."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    # ------------------------------------------------------------------ what is retained

    def begin(self) -> Comparison:
        """What is retained is being read: what is sent from now on need not be compared."""
        self._comparison, self._rest, self._put_off, self._tries = Comparison(self.epoch), None, [], 0
        self._factsheets.clear()
        return self._comparison

    def compare(self, sessions: Iterable[ArmSession]) -> None:
        """What is retained was read since `begin`: send what is missing or not right, after what changed by itself."""
        arms = list(sessions)
        self._sessions.update((session.arm, session) for session in arms)
        if self._comparison is not None:
            self._rest = self._comparison.rest(arms)
        self.release()

    def release(self) -> None:
        """Keep nothing back any more."""
        self._held = False
        self._look_at(self._loop.time())
        self.on_touched()

    @property
    def held(self) -> bool:
        """Whether all of them are kept back."""
        return self._held

    @property
    def waiting(self) -> tuple[int, float]:
        """How many documents that changed were not sent yet, and for how many seconds the next has been due."""
        due = self._agenda.next_due()
        return len(self._agenda), 0.0 if due is None else max(0.0, self._loop.time() - due)

    @property
    def settled(self) -> bool:
        """Whether everything retained is as the arms are, as far as this is known here."""
        return self._comparison is None and not len(self._agenda) and not self._held

    def _next_of_rest(self) -> Key | None:
        """The next document to be compared; arms that were not tried yet, and what is to be sent anyway, come later.

        None while nothing is found, too, and the search goes on after a pause.
        """
        comparison, rest = self._comparison, self._rest
        if rest is None or comparison is None:
            return None
        for _ in range(LOOKS):
            if (entry := next(rest, None)) is None:
                self._end_of_rest(comparison)
                return None
            session, name = entry
            key = Key(session.arm, name)
            if self._sessions.get(session.arm) is not session or comparison.looked_at(key):
                continue
            if key in self._agenda or (not session.met and self._tries < UNMET_TRIES):
                self._put_off.append(entry)
            elif name in self._builders and (session.state.adopted or name in (PRESENCE, FACTSHEET)):
                return key
        return None

    def _end_of_rest(self, comparison: Comparison) -> None:
        """Everything was looked at, or put off."""
        self._rest = None
        if self._put_off:
            self._tries += 1
            self._loop.call_later(AGAIN_S, self._look_again, comparison)
        else:
            log.info("documents_compared", right=comparison.right, sent=comparison.sent)
            self._comparison = None

    def _look_again(self, comparison: Comparison) -> None:
        if self._comparison is comparison:
            put_off, self._put_off = self._put_off, []
            self._rest = iter(put_off)
            self._look_at(self._loop.time())

    # ------------------------------------------------------------------ sending

    def _tick(self) -> None:
        """Send what is due; documents not yet taken by the MQTT server wait for that."""
        self._timer, self._looks_at = None, math.inf
        began = self._loop.time()
        if self._yielded < YIELDS and self.awaited():
            self._yielded += 1
            self._look_at(began + YIELD_S)
            return
        self._yielded = 0
        self._forget_old(began)
        made: list[Watched] = []
        while self._outbox.clear(LOADED - len(made)) and self._loop.time() - began <= self._slice_s:
            key = self._agenda.take(began)
            if key is None:
                if (key := self._next_of_rest()) is None:
                    break
                self._agenda.start(key)
            if (publication := self._make(key, began)) is not None:
                made.append(publication)
        if made:
            self.after_commit(partial(self._outbox.send_all, made))
        spent_s = self._loop.time() - began
        live, self._live = self._outbox.live - self._live, self._outbox.live
        self._slice_s = BESIDE_S if live else SLICE_S
        self._go_on(began + spent_s, spent_s * min(max(1, live), PAUSE_MOST))

    def _go_on(self, now: float, pause_s: float) -> None:
        """Look again after a pause, if there is anything to be sent."""
        if self._held:
            return
        due = now if self._rest is not None else self._agenda.next_due()
        if due is not None:
            full = not self._outbox.clear(LOADED)
            self._look_at(max(now + (max(pause_s, FULL_S) if full else pause_s), due))

    def _look_at(self, due: float) -> None:
        """Look for what is due at this time, if not earlier."""
        if due >= self._looks_at or self._closed or self._held:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._looks_at = self._loop.call_at(due, self._tick), due

    def _forget_old(self, now: float) -> None:
        """Forget when documents were sent whose gap is over."""
        while self._sent:
            key = next(iter(self._sent))
            if now - self._sent[key] < EFFECTIVE_GAP_S:
                break
            del self._sent[key]

    def _make(self, key: Key, now: float) -> Watched | None:
        """Make a document that is to be sent; None where the one that is retained is right."""
        session = self._sessions[key.arm]
        payload = self._codec.encode_document(self.build(session, key.name))
        topic = self._topics.meta(f"factsheet/{key.arm}") if key.name == FACTSHEET else self._topics.state(*key)
        publication = Watched(
            topic, payload, self._codec.content_type, retain=True, on_taken=partial(self._taken, key),
            shorten=shortener(key.name, payload),
        )  # fmt: skip
        if len(payload) > (room := self._outbox.room(publication)):
            publication.payload = shortener(key.name, payload)(room)
        if self._is_right(key, session, publication.payload):
            self._taken(key)
            return None
        self._sent.pop(key, None)
        self._sent[key] = now
        return publication

    def _is_right(self, key: Key, session: ArmSession, payload: bytes) -> bool:
        """Whether what is retained is known to say the same; from now on it will."""
        if key.name == FACTSHEET:
            said = digest(FACTSHEET, msgspec.json.decode(payload))
            if self._factsheets.get(key.arm) == said:
                return True
            self._factsheets[key.arm] = said
        comparison = self._comparison
        if comparison is None or comparison.looked_at(key):
            return False
        return comparison.judge(session, key.name, msgspec.json.decode(payload))

    def _taken(self, key: Key) -> None:
        """The MQTT server has a document: the next one of the same name may go."""
        if self._agenda.taken(key):
            self._look_at(self._loop.time())

    def build(self, session: ArmSession, name: str) -> dict[str, Any]:
        """One document as the arm stands, to be encoded as JSON."""
        if name not in NAMES:
            return self._builders[name](session)
        state = session.state
        now_us = self._clock.now_us()
        document: dict[str, Any] = {
            "arm": state.arm,
            "svc": self._instance,
            "epoch": self.epoch,
            "rev": state.rev,
            "seq": state.seq,
            "at": format_time(now_us),
        }
        document.update(self._builders[name](session))
        if name == CONFIG and state.overrides is not None:
            document["overrides"] = override_documents(state, now_us)
        if name == EFFECTIVE or name in LIMITING:
            self._keep_warm(session)
        return document

    def _keep_warm(self, session: ArmSession) -> None:
        """Of arms that were not told of for long, what their documents were made of is dropped: 40 kB each."""
        self._warm.pop(session.arm, None)
        self._warm[session.arm] = session
        if len(self._warm) > WARM_ARMS:
            oldest = self._warm.pop(next(iter(self._warm)))
            oldest.state.limits = None
            oldest.told_items.clear()
