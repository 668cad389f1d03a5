"""What the history knows of an arm's values: what was in force after a revision, and which change set what."""

from collections.abc import Collection, Iterator, Sequence
from heapq import merge
from typing import NamedTuple, Protocol

from broker.arms.batch_job import old_outcomes, unpack_values
from broker.blobs import unpack
from broker.record.batch_entries import batch_of
from broker.record.principals import FOREIGN_USER
from broker.store.rows import HistoryPage, PastChange
from handlers.batch.outcomes import CHANGED, WHOLE_KEY
from handlers.compare.views import ground_of
from handlers.items.settling import Ending
from handlers.methods.queries import ARM_ITEM
from handlers.state.arm_state import ArmState
from handlers.state.limit_sources import SETTINGS_USER
from handlers.state.provenance import Stamp
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Slot
from schema.errors import BrokerError
from schema.items import ITEMS, slot_path
from schema.messages import Message

LOOKED_AT_MOST = 20_000
"""The most changes that one question looks at."""
_PAGE = 64
FOREIGN = "foreign"
_TOOK_EFFECT = frozenset(ending.value for ending in Ending if ending.took_effect) | {FOREIGN}


class Past(Protocol):
    """What the store tells of past changes."""

    def history(self, arm: str, after_rev: int, before_rev: int, key: str | None, limit: int) -> HistoryPage:
        """Changes between two revisions, both exclusive, newest first."""

    def oldest_rev(self, arm: str) -> int:
        """The lowest revision of which there is an entry; 0 without any."""


class Touch(NamedTuple):
    """What one change did to one slot."""

    before: Message | None
    after: Message | None
    """None where it is not known."""
    took_effect: bool
    for_good: bool = True
    """Whether it moved what is there without overrides."""


def touch_of(change: PastChange, slot: Slot) -> Touch | None:
    """What a change did to a slot; None if it is none of its slots."""
    if change.key == WHOLE_KEY:
        found = _touch_of_many(change, slot)
    else:
        found = _touch_of_one(change, slot) if (change.key, change.mode) == slot else None
    terms = change.terms
    if found is None or terms is None:
        return found
    return found._replace(for_good=not terms.until_us and not terms.returned_from)


def _touch_of_one(change: PastChange, slot: Slot) -> Touch:
    ground = None if change.terms is None else change.terms.ground
    after = _unpack(slot, ground if ground is not None else change.after)
    return Touch(_unpack(slot, change.before), after, change.outcome in _TOOK_EFFECT)


def _touch_of_many(change: PastChange, slot: Slot) -> Touch | None:
    record = batch_of(change)
    outcomes = old_outcomes(change.after) or record.outcomes()
    if (outcome := outcomes.get(slot_path(slot))) is None:
        return None
    return Touch(unpack_values(change.before).get(slot), record.values().get(slot), outcome in CHANGED)


def _unpack(slot: Slot, blob: bytes | None) -> Message | None:
    return None if blob is None else unpack(blob, ITEMS[slot[0]].record)


class PastValues:
    """Questions about past values; each looks at the rows of the item that it is about, newest first."""

    def __init__(self, past: Past) -> None:
        self._past = past

    def check(self, state: ArmState, rev: int, path: str) -> None:
        """Refuse a revision of which nobody can say what was in force after it.

        Raises:
            BrokerError: out_of_limits, with the bound.
        """
        if rev > state.rev:
            text = f"{path}: {rev} > {state.rev}, the present revision of {state.arm}. {NOTHING_CHANGED}"
            raise BrokerError("out_of_limits", text, name="VALUE_IS_ABOVE_MAXIMUM")
        adopted, oldest = self.adopted_rev(state), self._past.oldest_rev(state.arm)
        why = f"the revision at which {state.arm} was adopted"
        if oldest - 1 > adopted:
            adopted, why = oldest - 1, f"the oldest that the history of {state.arm} tells of"
        if rev < adopted:
            text = f"{path}: {rev} < {adopted}, {why}. {NOTHING_CHANGED}"
            raise BrokerError("out_of_limits", text, name="VALUE_IS_BELOW_MINIMUM")

    def adopted_rev(self, state: ArmState) -> int:
        """The revision at which an arm was adopted last."""
        for change in self._walk(state.arm, (ARM_ITEM,), state.rev + 1):
            if change.method == "ConfirmArm" and change.outcome == Ending.APPLIED:
                return change.rev
        return 1

    def at(self, state: ArmState, rev: int, slots: Collection[Slot], path: str = "params.rev") -> dict[Slot, Message]:
        """The values of slots after a revision, without overrides; what was not known then is left out.

        Raises:
            BrokerError: out_of_limits, with the bound; internal where the rows are damaged.
        """
        self.check(state, rev, path)
        values = {slot: self._at(state, rev, slot) for slot in slots}
        return {slot: value for slot, value in values.items() if value is not None}

    def _at(self, state: ArmState, rev: int, slot: Slot) -> Message | None:
        if state.last_rev.get(slot, 0) <= rev:
            return ground_of(state, slot)
        earliest: Message | None = None
        for _, touch in self._touches(state.arm, slot, rev + 1):
            if touch.took_effect and touch.for_good:
                if touch.after is not None:
                    return touch.after
                break
            earliest = touch.before
        if earliest is not None:
            return earliest
        for change, touch in self._touches(state.arm, slot, state.last_rev[slot] + 1):
            if change.rev <= rev:
                break
            earliest = touch.before if touch.before is not None else earliest
        return earliest

    def set_by(self, state: ArmState, slot: Slot, stamps: Sequence[Stamp]) -> dict[Stamp, PastChange]:
        """The changes that set the parts of a slot, by what is known of their authors; those that there are."""
        last = state.last_rev.get(slot, 0)
        newest = next(self._touches(state.arm, slot, last + 1), None)
        named = {stamp for stamp in stamps if stamp.by != FOREIGN_USER}
        if newest is None or (newest[0].rev != last and not named):
            return {}  # nobody changed it since its arm was adopted
        found: dict[Stamp, PastChange] = {}
        open_stamps = {stamp for stamp in stamps if stamp.by not in ("", SETTINGS_USER)}
        for change, touch in self._touches(state.arm, slot, last + 1):
            if touch.took_effect:
                for stamp in [one for one in open_stamps if _matches(change, one)]:
                    found[stamp] = change
                    if stamp.by != FOREIGN_USER:
                        open_stamps.discard(stamp)
            if all(stamp.by == FOREIGN_USER and change.at_us < stamp.at_us for stamp in open_stamps):
                break
        return found

    def _touches(self, arm: str, slot: Slot, below_rev: int) -> Iterator[tuple[PastChange, Touch]]:
        for change in self._walk(arm, (slot[0], WHOLE_KEY), below_rev):
            if (touch := touch_of(change, slot)) is not None:
                yield change, touch

    def _walk(self, arm: str, keys: tuple[str, ...], below_rev: int) -> Iterator[PastChange]:
        """The changes of some items, newest first."""
        streams = [self._stream(arm, key, below_rev) for key in keys]
        for number, change in enumerate(merge(*streams, key=lambda one: -one.rev)):
            if number == LOOKED_AT_MOST:
                text = f"{keys[0]} of {arm}: more than {LOOKED_AT_MOST} changes lie between; ask of a newer revision"
                raise BrokerError("out_of_limits", text, name="VALUE_IS_BELOW_MINIMUM")
            yield change

    def _stream(self, arm: str, key: str, below_rev: int) -> Iterator[PastChange]:
        more = True
        while more:
            page = self._past.history(arm, 0, below_rev, key, _PAGE)
            if page.missing:
                text = f"revision {max(page.missing)} of {arm} is damaged in the store, what it set is not known"
                raise BrokerError("internal", f"{text}. Restore the store from a backup.")
            yield from page.changes
            more = page.more and bool(page.changes)
            below_rev = page.changes[-1].rev if page.changes else 0


def _matches(change: PastChange, stamp: Stamp) -> bool:
    if stamp.by == FOREIGN_USER:  # it is stamped when it is read, its row a little later
        return change.user == FOREIGN_USER and change.at_us >= stamp.at_us
    return change.at_us == stamp.at_us and f"{change.user}/{change.conn}" == stamp.by
