"""Everything that a screen shows of one arm. Pure."""

from typing import Any

import msgspec

from armbroker.board.facts import ArmFacts, ArmRow, by_text, listed, text
from armbroker.board.limits import UNKNOWN_MODE, Limit, limits_of, modes_of
from armbroker.board.overrides import Override, overrides_of
from armbroker.board.values import Value, values_of


class Waiting(msgspec.Struct, frozen=True):
    """A change that is not settled."""

    rev: Any
    item: str
    slot: str
    state: str
    since: str
    why: str


class Detail(msgspec.Struct, frozen=True):
    """One arm; `limits` are those of control mode `mode`, empty for the tightest over all of `modes`."""

    row: ArmRow
    adapter: str
    firmware: str
    read_at: str
    mode_seen_at: str
    mode_by: str
    lock_why: str
    lock_until: str
    mode: str
    modes: list[str]
    pending: list[Waiting]
    overrides: list[Override]
    limits: list[Limit]
    values: list[Value]


def detail_of(facts: ArmFacts, mode: str | None = None) -> Detail:
    """The detail of an arm, with the limits of a control mode; unless told, of the present one."""
    presence, mode_document = facts.document("presence"), facts.document("mode")
    reported, lock = facts.document("reported"), presence.get("hold")
    lock = lock if isinstance(lock, dict) else {}
    chosen = present_mode(facts) if mode is None else mode
    return Detail(
        row=facts.row,
        adapter=text(presence.get("adapter")),
        firmware=text(reported.get("firmware")),
        read_at=text(reported.get("read_at")),
        mode_seen_at=text(mode_document.get("mode_seen_at")),
        mode_by=by_text(mode_document.get("by")),
        lock_why=text(lock.get("reason")),
        lock_until=text(lock.get("until")),
        mode=chosen,
        modes=modes_of(facts),
        pending=[
            _waiting(entry) for entry in listed(facts.document("config").get("pending")) if isinstance(entry, dict)
        ],
        overrides=overrides_of(facts.document("config")),
        limits=limits_of(facts, chosen),
        values=values_of(facts),
    )


def present_mode(facts: ArmFacts) -> str:
    """The mode whose limits count now; none while the arm is away, or its mode is not known or being changed."""
    row = facts.row
    return row.mode if row.presence == "online" and row.mode and not row.asked else UNKNOWN_MODE


def _waiting(entry: dict[str, Any]) -> Waiting:
    return Waiting(
        rev=entry.get("rev"),
        item=text(entry.get("item")),
        slot=text(entry.get("slot")),
        state=text(entry.get("state")),
        since=text(entry.get("since")),
        why=text(entry.get("why")),
    )
