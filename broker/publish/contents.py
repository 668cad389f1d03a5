"""What the retained documents of an arm say of it."""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob
from broker.life import State
from handlers.compare.drift import recipe_document
from handlers.fleet.facts import Seen
from handlers.items.settling import agrees
from handlers.methods.authority import hold_document
from handlers.stack.effective import effective_document
from schema.arms import Slot
from schema.codecs.items_form import ToldItems
from schema.codecs.json_codec import JSON_PARTS
from schema.codecs.plain import bare
from schema.codecs.times import format_time
from schema.items import slot_name, slot_path
from schema.messages import KinematicLimits, Message

PRESENCE, CONFIG, MODE, REPORTED, EFFECTIVE = "presence", "config", "mode", "reported", "effective"
NAMES = (PRESENCE, CONFIG, MODE, REPORTED, EFFECTIVE)
"""The documents below `state/`, in the order in which they are mended: who is there first, the largest last."""
LIMITING = frozenset({CONFIG, REPORTED})
"""Documents whose values limits are made of: with them the effective limits may change."""
Build = Callable[[ArmSession], dict[str, Any]]
"""Makes what a document says, to be encoded as JSON: values are encoded once, and stand in it as they are."""

_TOLD = dict(zip(State, State, strict=True)) | {State.RESUMED: State.UNKNOWN, State.PENDING: State.ACCEPTED}
"""States as the document tells them: to those who wait it makes no difference which run may have sent a command."""
_STEPS_TELL = frozenset({State.ACCEPTED, State.WRITING})
"""States of a batch of which the step that it is at tells more."""


@cache
def with_effective(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of documents that changed, and of the effective limits where they follow from one of these."""
    return names if LIMITING.isdisjoint(names) else (*names, EFFECTIVE)


def differs(session: ArmSession) -> list[str]:
    """The slots whose desired value is not the reported one."""
    state, reported = session.state, session.state.reported
    return [
        slot_path(slot)
        for slot, wanted in state.desired.items()
        if wanted is not (there := reported.get(slot)) and wanted != there and not agrees(state, slot)
    ]


def _items(session: ArmSession, name: str, values: dict[Slot, Message]) -> dict[str, Any]:
    """The items of a document, of which most are as they were in the last one."""
    told = session.told_items.get(name)
    if told is None:
        told = session.told_items[name] = ToldItems(JSON_PARTS)
    return told.of(values)


def _config(session: ArmSession) -> dict[str, Any]:
    pending = []
    for job in session.unsettled():
        entry: dict[str, Any] = {"rev": job.rev, "item": job.slot[0]}
        if name := slot_name(job.slot):
            entry["slot"] = name
        elif isinstance(job, BatchJob):
            entry["items"] = [slot_path(slot) for slot in job.places]
        entry["since"] = format_time(job.at_us)
        entry["state"] = _TOLD[job.current.state if job.state in _STEPS_TELL else job.state].value
        if job.idles:
            entry["when"] = "idle"
        if job.why:
            entry["why"] = job.why
        pending.append(entry)
    state = session.state
    items = _items(session, CONFIG, state.desired)
    document: dict[str, Any] = {"items": items, "pending": pending, "differs": differs(session)}
    if state.applied is not None:
        document["recipe"] = recipe_document(state)
    return document


def _reported(session: ArmSession) -> dict[str, Any]:
    state = session.state
    document: dict[str, Any] = {"items": _items(session, REPORTED, state.reported)}
    if state.description is not None and state.description.hard_source:
        document["hard_limits"] = JSON_PARTS[KinematicLimits](state.description.hard_limits, "")
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


def presence_word(session: ArmSession) -> str:
    """Whether an arm is there, as its presence says: online, offline, held, unknown."""
    state = session.state
    if state.distrust:
        return "held"
    if state.online:
        return "online"
    return "offline" if session.met else "unknown"


def seen(session: ArmSession) -> Seen:
    """An arm as lists and summaries see it."""
    return Seen(session.state, presence_word(session), sum(job.state is State.HELD for job in session.parked))


def _presence(session: ArmSession) -> dict[str, Any]:
    state = session.state
    document: dict[str, Any] = {
        "state": presence_word(session),
        "ready": state.online and state.ready and not state.distrust,
        "activity": state.activity.value,
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
    if state.distrust:
        document["why"] = state.distrust
    return document


def _effective(session: ArmSession) -> dict[str, Any]:
    return effective_document(session.state)


BUILDERS: Mapping[str, Build] = MappingProxyType({
    PRESENCE: _presence,
    CONFIG: _config,
    MODE: _mode,
    REPORTED: _reported,
    EFFECTIVE: _effective,
})  # fmt: skip
"""Beside what all of them share."""
