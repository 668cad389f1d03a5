"""The summaries of groups, `state/@<group>/fleet`: counted while arms change, sent now and then."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from broker.arms.arm_session import ArmSession
from broker.arms.stream import FleetStream
from broker.clock import Clock
from broker.publish.contents import seen
from broker.publish.documents import AGAIN_S, LOADED, UNMET_TRIES, Documents
from broker.publish.outbox import Outbox, Publication
from broker.settings import Group, Groups
from broker.topics import Topics
from handlers.fleet.summary import PLANS_MOST, Counted, Summary, counted
from schema.codecs.codec import Codec
from schema.codecs.times import format_time

GAP_S = 2.0
"""Least time between two summaries of one group."""
REST_S = 0.2
"""How long a first change waits for others, and for its end; looks for room in the outbox are no further apart."""
SHARE = 10
"""After a round comes a pause of so many times what it took, if that is longer."""
SLICE_S = 0.002
"""How long arms are counted, and summaries made, without a pause as long."""
_HEAD = frozenset({"arm", "svc", "epoch", "rev", "seq", "at"})
"""What every document has, and may say otherwise without saying anything else."""
_encode = msgspec.json.Encoder(order="deterministic").encode


class Summaries:
    """Counts each arm that changed once, and sends the summaries of its groups that say something else then.

    Args:
        documents: tells which arms changed.
        sessions: the arms.
        outbox: what publishes.
        stream: the events of the fleet.
        clock: service time.
        topics: where summaries go.
        codec: how they are encoded.
        instance: the name of this service.
    """

    def __init__(
        self,
        *,
        documents: Documents,
        sessions: Mapping[str, ArmSession],
        outbox: Outbox,
        stream: FleetStream,
        clock: Clock,
        topics: Topics,
        codec: Codec,
        instance: str,
    ) -> None:
        self._documents, self._sessions, self._outbox = documents, sessions, outbox
        self._stream, self._clock, self._topics, self._codec = stream, clock, topics, codec
        self._instance = instance
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        documents.on_touched = self._woken.set
        self._groups_of: dict[str, tuple[str, ...]] = {}
        self._counted: dict[str, Counted] = {}
        self._summaries: dict[str, Summary] = {}
        self._said: dict[str, int] = {}
        """What was said of each group last."""
        self._changed: set[str] = set()
        """Groups whose summary may say something else now."""
        self._began_s = 0.0
        self._unmet = UNMET_TRIES
        self._plans: dict[str, list[int]] = {}
        self.live_plans: Callable[[], Iterable[tuple[str, int]]] = tuple
        """Group and number of each plan that is not over, by number."""

    def follow(self, groups: Groups) -> None:
        """Summarise these groups from now on; what is retained of those that are gone is cleared."""
        for name in self._summaries.keys() - groups.by_name.keys():
            self._said.pop(name, None)
            self._clear(name)
        self._groups_of, self._counted = _groups_of(groups.by_name.values()), {}
        self._summaries = {name: Summary() for name in groups.by_name}
        self._changed = set(self._summaries)
        self._documents.touched.update(dict.fromkeys(self._sessions))
        self._woken.set()

    def compare(self, retained: Mapping[str, bytes]) -> None:
        """What is retained was read, by group: send what is missing or not right, clear what is of no group of ours."""
        self._said.clear()
        for name, payload in retained.items():
            told = _document(payload)
            if told.get("svc") != self._instance:
                continue
            if name in self._summaries:
                self._said[name] = hash(_encode({key: value for key, value in told.items() if key not in _HEAD}))
            else:
                self._clear(name)
        self._changed.update(self._summaries)
        self._woken.set()

    def plans_changed(self) -> None:
        """Another plan is live, or one no more."""
        self._woken.set()

    async def run(self) -> None:
        """Count and send, for ever."""
        while True:
            await self._woken.wait()
            await asyncio.sleep(REST_S)
            self._woken.clear()
            if self._documents.held:
                continue
            await self._all_met()
            began_s = self._began_s = self._loop.time()
            await self._count()
            await self._send_changed()
            await asyncio.sleep(max(GAP_S, SHARE * (self._loop.time() - began_s)))

    async def _all_met(self) -> None:
        """Wait until every arm was tried once, for a while at most."""
        while self._unmet and any(not session.met for session in self._sessions.values()):
            self._unmet -= 1
            await asyncio.sleep(AGAIN_S)
        self._unmet = 0

    async def _count(self) -> None:
        """Count the arms that changed, or are gone."""
        touched, self._documents.touched = self._documents.touched, {}
        for arm in list(touched):
            self._count_arm(arm)
            await self._rest()

    def _count_arm(self, arm: str) -> None:
        session = self._sessions.get(arm)
        before = self._counted.get(arm)
        after = None if session is None else counted(seen(session))
        if before == after:
            return
        for name in self._groups_of.get(arm, ()):
            self._summaries[name].change(arm, before, after)
            self._changed.add(name)
        if after is None or arm not in self._groups_of:
            self._counted.pop(arm, None)
        else:
            self._counted[arm] = after

    async def _send_changed(self) -> None:
        """Send the summaries that say something else, as the outbox has room."""
        plans, before = self._live(), self._plans
        self._plans = plans
        self._changed.update(name for name in plans | before if plans.get(name) != before.get(name))
        for name in sorted(self._changed):
            self._changed.discard(name)
            if (summary := self._summaries.get(name)) is not None:
                self._send(name, {**summary.document(), "plans": plans.get(name, [])[-PLANS_MOST:]})
            pause_s = SLICE_S
            while self._outbox.backlog >= LOADED:  # it tells of room to what waits in the store alone
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, REST_S)
            await self._rest()

    def _live(self) -> dict[str, list[int]]:
        """The plans of each group that has some."""
        plans: dict[str, list[int]] = {}
        for name, number in self.live_plans():
            plans.setdefault(name, []).append(number)
        return plans

    def _send(self, name: str, told: dict[str, Any]) -> None:
        said = hash(_encode(told))
        if self._said.get(name) == said:
            return
        self._said[name] = said
        head = {
            "arm": f"@{name}", "svc": self._instance, "epoch": self._documents.epoch, "rev": 0,
            "seq": self._stream.state.seq, "at": format_time(self._clock.now_us()),
        }  # fmt: skip
        payload = self._codec.encode_document({**head, **told})
        publication = Publication(self._topics.summary(name), payload, self._codec.content_type, retain=True)
        self._documents.after_commit(lambda: self._outbox.send(publication))

    def _clear(self, name: str) -> None:
        self._outbox.send(Publication(self._topics.summary(name), b"", retain=True))

    async def _rest(self) -> None:
        """Let others work after a slice."""
        if (spent_s := self._loop.time() - self._began_s) > SLICE_S:
            await asyncio.sleep(spent_s)
            self._began_s = self._loop.time()


def _document(payload: bytes) -> dict[str, Any]:
    """What is retained of a group; nothing where that is no document."""
    try:
        return msgspec.json.decode(payload, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _groups_of(groups: Iterable[Group]) -> dict[str, tuple[str, ...]]:
    """The groups of each arm; texts of the same groups are there once."""
    found: dict[str, list[str]] = {}
    for group in groups:
        for arm in group.arms:
            found.setdefault(arm, []).append(group.name)
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    return {arm: shared.setdefault(tuple(names), tuple(names)) for arm, names in found.items()}
