"""The retained documents of an arm: built when sent, coalesced, after the events they contain."""

import asyncio
from collections.abc import Callable
from typing import Any

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import Phase
from broker.clock import Clock
from broker.publish.outbox import Outbox, Publication
from broker.topics import Topics
from handlers.authority import hold_document
from handlers.config_items import CONFIG_ITEMS, slot_name, slot_path
from handlers.effective import effective_document
from handlers.settling import agrees
from schema.arms import Slot
from schema.codecs.codec import Codec
from schema.codecs.plain import bare, to_plain
from schema.codecs.times import format_time
from schema.messages import Message

GAP_S = 0.1
"""Least time between two sendings of one document under load."""
EFFECTIVE_GAP_S = 3.0
"""The same of the effective limits, the largest document by far."""
SLICE_S = 0.005
"""How long documents are made without a pause: requests wait meanwhile."""
PAUSE = 14
"""The pause after a slice while requests are served, as a multiple of it; without them it is as long as the slice."""
REST_S = 0.01
"""How long a first change waits for others of the same moment."""
LOADED = 32
"""Publications waiting from which documents give way to replies and events."""
_PHASES = {Phase.ACCEPTED: "accepted", Phase.WRITING: "writing", Phase.UNKNOWN: "unknown"}

EFFECTIVE = "effective"
NAMES = ("config", "reported", "mode", EFFECTIVE, "presence")
_LATER_S = {"presence": -3600.0, EFFECTIVE: 1.0}
"""How much later than others a document of the same moment is sent: who is there comes first, the largest last."""
_LIMITING = frozenset({"config", "reported"})
"""Documents whose values limits are made of: with them the effective limits may change."""


def items_document(values: dict[Slot, Message]) -> dict[str, Any]:
    """All items: a message, or `{<MODE>: bare value}` for an item with modes."""
    document: dict[str, Any] = {}
    for item in CONFIG_ITEMS:
        if item.key == "control_mode":
            continue
        if not item.modes:
            if (value := values.get((item.key, 0))) is not None:
                document[item.key] = to_plain(value)
            continue
        document[item.key] = {
            slot_name(slot): bare(values[slot], item.field)
            for slot in ((item.key, int(mode)) for mode in item.modes)
            if slot in values
        }
    return document


class Documents:
    """Sends documents that changed, at most one per 100 ms of each under load, and all of them on demand."""

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
    ) -> None:
        self._outbox = outbox
        self._clock = clock
        self.epoch = epoch
        self._instance = instance
        self._topics = topics
        self._codec = codec
        self._loop = loop
        self._due: dict[tuple[str, str], float] = {}
        self._sent: dict[tuple[str, str], float] = {}
        self._under_way: set[tuple[str, str]] = set()
        self._sessions: dict[str, ArmSession] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._live = 0
        self.after_commit: Callable[[Callable[[], None]], None] = lambda callback: callback()
        """How to wait for the commit of what a document was built from; set by the composition root."""

    def mark(self, session: ArmSession, *names: str) -> None:
        """Some documents of an arm changed."""
        now = self._loop.time()
        self._sessions[session.arm] = session
        for name in names if _LIMITING.isdisjoint(names) else (*names, EFFECTIVE):
            key = (session.arm, name)
            if key not in self._due:
                gap_s = EFFECTIVE_GAP_S if name == EFFECTIVE else GAP_S
                self._due[key] = due = max(now + REST_S, self._sent.get(key, 0.0) + gap_s)
                self._look_at(due)

    def forget(self, arm: str) -> None:
        """Send no more documents of an arm."""
        for key in [key for key in self._due if key[0] == arm]:
            del self._due[key]

    def close(self) -> None:
        """Send nothing more: the next start publishes every document."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        """Send what is due; documents not yet taken by the MQTT server wait for that."""
        self._timer = None
        now = self._loop.time()
        room = LOADED - self._outbox.backlog
        for key in self._ready(now)[: max(0, room)]:
            del self._due[key]
            self._sent[key] = now
            self._under_way.add(key)
            self._send(key)
            if self._loop.time() - now > SLICE_S:
                break
        spent_s = self._loop.time() - now
        at_work, self._live = self._outbox.live != self._live, self._outbox.live
        if self._due:
            pause_s = max(REST_S, spent_s * (PAUSE if at_work else 1))
            self._look_at(max(now + spent_s + pause_s, min(self._due.values())))

    def _ready(self, now: float) -> list[tuple[str, str]]:
        """What may be sent now, in the order in which it changed, but for `_LATER_S`: nothing waits for ever."""
        ready = [
            (due + _LATER_S.get(key[1], 0.0), key)
            for key, due in self._due.items()
            if due <= now and key not in self._under_way
        ]
        return [key for _, key in sorted(ready)]

    def _look_at(self, due: float) -> None:
        """Look for what is due at this time, if not earlier."""
        if self._timer is not None and self._timer.when() > due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and not self._closed:
            self._timer = self._loop.call_at(due, self._tick)

    def _send(self, key: tuple[str, str]) -> None:
        arm, name = key
        payload = self._codec.encode_document(self.build(self._sessions[arm], name))

        def publish() -> None:
            self._outbox.send(
                Publication(
                    self._topics.state(arm, name),
                    payload,
                    self._codec.content_type,
                    retain=True,
                    done=lambda: self._under_way.discard(key),
                )
            )

        self.after_commit(publish)

    def build(self, session: ArmSession, name: str) -> dict[str, Any]:
        """One document as the arm stands."""
        state = session.state
        document: dict[str, Any] = {
            "arm": state.arm,
            "svc": self._instance,
            "epoch": self.epoch,
            "rev": state.rev,
            "seq": state.seq,
            "at": format_time(self._clock.now_us()),
        }
        document.update(_BUILDERS[name](session))
        return document


def differs(session: ArmSession) -> list[str]:
    """The slots whose desired value is not the reported one."""
    state = session.state
    return [slot_path(slot) for slot in state.desired if not agrees(state, slot)]


def _config(session: ArmSession) -> dict[str, Any]:
    pending = []
    for job in session.unsettled():
        entry: dict[str, Any] = {"rev": job.rev, "item": job.slot[0]}
        if name := slot_name(job.slot):
            entry["slot"] = name
        entry["since"] = format_time(job.at_us)
        entry["state"] = "held" if job.held else _PHASES.get(job.current.phase, "accepted")
        if job.why:
            entry["why"] = job.why
        pending.append(entry)
    return {"items": items_document(session.state.desired), "pending": pending, "differs": differs(session)}


def _reported(session: ArmSession) -> dict[str, Any]:
    state = session.state
    document: dict[str, Any] = {"items": items_document(state.reported)}
    if state.description is not None and state.description.hard_source:
        document["hard_limits"] = to_plain(state.description.hard_limits)
    if (mode := state.reported.get(("control_mode", 0))) is not None:
        document["mode"] = bare(mode, "control_mode")
    if state.description is not None:
        document["firmware"] = state.description.firmware
    if state.read_at_us:
        document["read_at"] = format_time(state.read_at_us)
    return document


def _mode(session: ArmSession) -> dict[str, Any]:
    state, slot = session.state, ("control_mode", 0)
    document: dict[str, Any] = {"control_mode": None, "mode_seen_at": None}
    if (seen := state.reported.get(slot)) is not None:
        document["control_mode"] = bare(seen, "control_mode")
        document["mode_seen_at"] = format_time(state.mode_seen_at_us)
    wanted = state.desired.get(slot)
    if wanted is not None and wanted != seen:
        document["desired"] = bare(wanted, "control_mode")
    if session.mode_by is not None:
        by = session.mode_by
        document["by"] = {"user": by.user, "connection": by.connection, "proven": by.proven}
    return document


def _presence(session: ArmSession) -> dict[str, Any]:
    state = session.state
    word = "online" if state.online else "offline"
    if state.held:
        word = "held"
    elif not state.online and not session.met:
        word = "unknown"
    document: dict[str, Any] = {
        "state": word,
        "ready": state.online and state.ready and not state.held,
        "since": format_time(session.since_us),
        "adapter": state.adapter,
    }
    if state.description is not None:
        document["model"] = state.description.model
        document["serial"] = state.description.serial
        document["joints"] = len(state.description.joints)
    else:
        document["model"], document["joints"] = session.model, 0
    document["authority"] = state.authority.value
    if state.hold is not None:
        document["hold"] = hold_document(state.hold)
    if state.held:
        document["why"] = state.held
    return document


def _effective(session: ArmSession) -> dict[str, Any]:
    return effective_document(session.state)


_BUILDERS: dict[str, Callable[[ArmSession], dict[str, Any]]] = {
    "config": _config,
    "reported": _reported,
    "mode": _mode,
    EFFECTIVE: _effective,
    "presence": _presence,
}
