"""What the history knows of an arm's values: what was in force after a revision, and which change set what."""

from collections.abc import Collection, Iterator, Sequence
from heapq import merge
from typing import NamedTuple, Protocol

from broker.arms.batch_job import old_outcomes, unpack_values
from broker.record.batch_entries import batch_of
from broker.record.principals import FOREIGN_USER
from broker.store.errors import RowDamagedError
from broker.store.rows import HistoryPage, PastChange, Terms
from handlers.batch.outcomes import CHANGED, WHOLE_KEY
from handlers.compare.views import ground_of
from handlers.items.room import reserve_of
from handlers.items.settling import Ending
from handlers.methods.queries import ARM_ITEM
from handlers.state.arm_state import ArmState
from handlers.state.limit_sources import SETTINGS_USER
from handlers.state.provenance import Stamp
from handlers.state.refusals import NOTHING_CHANGED, not_read
from schema.arms import Slot
from schema.codecs.json_codec import unpack
from schema.errors import BrokerError
from schema.items import ITEMS, slot_path
from schema.messages import Message

NO_TERMS = Terms()
LOOKED_AT_MOST = 4_000
"""The most changes that a question looks at, some 25 µs each."""
_FIRST_PAGE, _PAGE = 8, 64
FOREIGN = "foreign"
_TOOK_EFFECT = frozenset(ending.value for ending in Ending if ending.took_effect) | {FOREIGN}


class Past(Protocol):
    """What the store tells of past changes."""

    def history(self, arm: str, after_rev: int, before_rev: int, key: str | None, limit: int) -> HistoryPage:
        """Changes between two revisions, both exclusive, newest first."""

    def later(self, arm: str, after_rev: int, key: str, limit: int) -> HistoryPage:
        """Changes of one item above a revision, oldest first."""

    def firsts(self, arm: str, before_rev: int, key: str, limit: int) -> HistoryPage:
        """The first entry of one item at each revision below one, newest first."""

    def oldest_rev(self, arm: str) -> int:
        """The lowest revision of which there is an entry; 0 without any."""


class Touch(NamedTuple):
    """What one change did to one slot."""

    before: Message | None
    after: Message | None
    took_effect: bool
    for_good: bool = True
    """Whether it was no override, and no return of one."""
    ground: Message | None = None
    """What was there without overrides once it took effect; None where that is not known."""


def touch_of(change: PastChange, slot: Slot) -> Touch | None:
    """What a change did to a slot; None if it is none of its slots."""
    if change.key == WHOLE_KEY:
        found = _touch_of_many(change, slot)
    else:
        found = _touch_of_one(change, slot) if (change.key, change.mode) == slot else None
    if found is None:
        return None
    terms = change.terms or NO_TERMS
    for_good = not terms.until_us and not terms.returned_from
    ground = found.ground or (found.after if for_good else None)
    if terms.ground is not None:
        ground = _unpack(slot, terms.ground)
    return found._replace(for_good=for_good, ground=ground)


def _touch_of_one(change: PastChange, slot: Slot) -> Touch:
    before, after, ground = (_unpack(slot, blob) for blob in (change.before, change.after, change.ground))
    return Touch(before, after, change.outcome in _TOOK_EFFECT, ground=ground)


def _touch_of_many(change: PastChange, slot: Slot) -> Touch | None:
    record = batch_of(change)
    outcomes = old_outcomes(change.after) or record.outcomes()
    if (outcome := outcomes.get(slot_path(slot))) is None:
        return None
    before, after = unpack_values(change.before).get(slot), record.values().get(slot)
    return Touch(before, after, outcome in CHANGED, ground=record.grounds().get(slot))


def _unpack(slot: Slot, blob: bytes | None) -> Message | None:
    return None if blob is None else unpack(blob, ITEMS[slot[0]].record)


class Budget:
    """How many more changes are looked at."""

    def __init__(self, left: int) -> None:
        self.left = left

    def of(self, changes: Iterator[PastChange]) -> Iterator[PastChange]:
        """Changes, as long as any may be looked at."""
        for change in changes:
            if not self.left:
                return
            self.left -= 1
            yield change


class PastValues:
    """Questions about past values; each looks at the rows of the items that it is about."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self._adopted: dict[str, tuple[int, int]] = {}
        """What was found of each arm: the lowest revision that changed a slot last, and that of the adoption."""

    def check(self, state: ArmState, rev: int, path: str) -> None:
        """Refuse a revision of which nobody can say what was in force after it.

        Raises:
            BrokerError: arm_not_read; out_of_limits, with the bound.
        """
        if not state.adopted:
            raise not_read(state)
        if rev > state.rev:
            text = f"{path}: {rev} > {state.rev}, the present revision of {state.arm}. {NOTHING_CHANGED}"
            raise BrokerError("out_of_limits", text, name="VALUE_IS_ABOVE_MAXIMUM")
        bound, oldest = self.adopted_rev(state), self._past.oldest_rev(state.arm)
        why = f"the revision at which {state.arm} was adopted"
        if oldest - 1 > bound:
            bound, why = oldest - 1, f"the oldest that the history of {state.arm} tells of"
        if rev < bound:
            text = f"{path}: {rev} < {bound}, {why}. {NOTHING_CHANGED}"
            raise BrokerError("out_of_limits", text, name="VALUE_IS_BELOW_MINIMUM")

    def adopted_rev(self, state: ArmState) -> int:
        """The revision at which an arm was adopted last, or a later one where nobody can say."""
        lowest = min(state.last_rev.values(), default=state.rev)  # the adoption changed every slot
        if lowest <= 1:
            return 1
        known = self._adopted.get(state.arm)
        if known is None or known[0] != lowest:
            known = self._adopted[state.arm] = (lowest, self._searched(state.arm, lowest))
        return known[1]

    def _searched(self, arm: str, highest: int) -> int:
        below, looked_at = highest + 1, 0
        while looked_at < LOOKED_AT_MOST:
            page = self._past.firsts(arm, below, ARM_ITEM, _PAGE)
            for change in page.changes:
                if change.method == "ConfirmArm" and change.outcome == Ending.APPLIED:
                    return change.rev
            if page.missing:
                return max(page.missing)
            if not page.more:
                return 1
            below, looked_at = page.changes[-1].rev, looked_at + len(page.changes)
        return below

    def at(self, state: ArmState, rev: int, slots: Collection[Slot], path: str = "params.rev") -> dict[Slot, Message]:
        """The values of slots after a revision, without overrides; what was not known then is left out.

        Raises:
            BrokerError: out_of_limits, with the bound; internal where the rows are damaged.
        """
        self.check(state, rev, path)
        values = {slot: ground_of(state, slot) for slot in slots if state.last_rev.get(slot, 0) <= rev}
        changed: dict[str, set[Slot]] = {}
        for slot in slots:
            if slot not in values:
                changed.setdefault(slot[0], set()).add(slot)
        budget = Budget(LOOKED_AT_MOST)
        for key, wanted in changed.items():
            values |= self._at_revision(state, rev, key, wanted, budget)
            if not budget.left:
                text = f"{path}: {rev}: more than {LOOKED_AT_MOST} changes lie between; name fewer items"
                raise BrokerError("out_of_limits", text, name="VALUE_IS_BELOW_MINIMUM")
        return {slot: value for slot, value in values.items() if value is not None}

    def found(self, state: ArmState, rev: int, slots: Collection[Slot]) -> dict[Slot, Message]:
        """As `at`.

        Raises:
            BrokerError: out_of_limits, with the bound; internal where the store is damaged.
        """
        try:
            return self.at(state, rev, slots)
        except RowDamagedError as error:
            raise BrokerError("internal", f"{error}. Restore the store from a backup.") from error

    def _at_revision(
        self, state: ArmState, rev: int, key: str, slots: set[Slot], budget: Budget
    ) -> dict[Slot, Message | None]:
        """The values of slots of an item, changed since: of the newest change before, else as the next one found it.

        What the next one found may lack only changes that were pending then: further back none is looked for.
        """
        values: dict[Slot, Message | None] = {}
        wanted, pending = set(slots), Budget(state.queue_limit + reserve_of(state))
        covered: set[Slot] = set()
        for _, slot, touch in _touches(pending.of(self._newest_first(state.arm, key, rev + 1)), wanted):
            if touch.took_effect:
                wanted.discard(slot)
                if touch.ground is not None:
                    values[slot] = touch.ground
                elif not touch.for_good:
                    covered.add(slot)
        if covered:
            values |= self._below_overrides(state.arm, rev, key, covered, budget)
        wanted = slots - values.keys()
        for _, slot, touch in _touches(budget.of(self._oldest_first(state.arm, key, rev)), wanted):
            values[slot] = touch.before
            wanted.discard(slot)
        return values

    def _below_overrides(
        self, arm: str, rev: int, key: str, slots: set[Slot], budget: Budget
    ) -> dict[Slot, Message | None]:
        """The values of slots that an override may have covered: however far back, what was there for good."""
        values: dict[Slot, Message | None] = {}
        wanted = set(slots)
        for _, slot, touch in _touches(budget.of(self._newest_first(arm, key, rev + 1)), wanted):
            values[slot] = touch.before
            if touch.took_effect and touch.ground is not None:
                values[slot] = touch.ground
                wanted.discard(slot)
        return values

    def set_by(self, state: ArmState, slot: Slot, stamps: Sequence[Stamp]) -> dict[Stamp, PastChange]:
        """The changes that set the parts of a slot, by what is known of their authors; those that there are."""
        last, named = state.last_rev.get(slot, 0), {stamp for stamp in stamps if stamp.by != FOREIGN_USER}
        found: dict[Stamp, PastChange] = {}
        open_stamps = {stamp for stamp in stamps if stamp.by not in ("", SETTINGS_USER)}
        changes = Budget(LOOKED_AT_MOST).of(self._newest_first(state.arm, slot[0], last + 1))
        for number, (change, _, touch) in enumerate(_touches(changes, {slot})):
            if not number and change.rev != last and not named:
                break  # nobody changed it since its arm was adopted
            for stamp in [one for one in open_stamps if _matches(change, touch, one)]:
                found[stamp] = change
                if stamp.by != FOREIGN_USER:
                    open_stamps.discard(stamp)
            if all(stamp.by == FOREIGN_USER and change.at_us < stamp.at_us for stamp in open_stamps):
                break
        return found

    def _newest_first(self, arm: str, key: str, below_rev: int) -> Iterator[PastChange]:
        """The changes of an item, batches included, below a revision."""
        return merge(*(self._older(arm, one, below_rev) for one in (key, WHOLE_KEY)), key=lambda change: -change.rev)

    def _oldest_first(self, arm: str, key: str, after_rev: int) -> Iterator[PastChange]:
        """The changes of an item, batches included, above a revision."""
        return merge(*(self._later(arm, one, after_rev) for one in (key, WHOLE_KEY)), key=lambda change: change.rev)

    def _older(self, arm: str, key: str, below_rev: int) -> Iterator[PastChange]:
        size, more = _FIRST_PAGE, True
        while more:
            page = self._past.history(arm, 0, below_rev, key, size)
            yield from _whole(arm, page)
            more, size = page.more and bool(page.changes), _PAGE
            below_rev = page.changes[-1].rev if page.changes else 0

    def _later(self, arm: str, key: str, after_rev: int) -> Iterator[PastChange]:
        size, more = _FIRST_PAGE, True
        while more:
            page = self._past.later(arm, after_rev, key, size)
            yield from _whole(arm, page)
            more, size = page.more and bool(page.changes), _PAGE
            after_rev = page.changes[-1].rev if page.changes else 0


def _touches(changes: Iterator[PastChange], slots: set[Slot]) -> Iterator[tuple[PastChange, Slot, Touch]]:
    """What changes did to some slots, until none of these is wanted any more."""
    while slots and (change := next(changes, None)) is not None:
        for slot in tuple(slots):
            if (touch := touch_of(change, slot)) is not None:
                yield change, slot, touch


def _whole(arm: str, page: HistoryPage) -> Sequence[PastChange]:
    """The changes of a page.

    Raises:
        BrokerError: internal: one is damaged, and nobody knows what it set.
    """
    if page.missing:
        text = f"revision {max(page.missing)} of {arm} is damaged in the store, what it set is not known"
        raise BrokerError("internal", f"{text}. Restore the store from a backup.")
    return page.changes


def _matches(change: PastChange, touch: Touch, stamp: Stamp) -> bool:
    """Whether a change left a stamp; of one of which no end is stored yet the stamp tells that it took effect."""
    if stamp.by == FOREIGN_USER:  # it is stamped when it is read, its row a little later
        return touch.took_effect and change.user == FOREIGN_USER and change.at_us >= stamp.at_us
    known = touch.took_effect or not change.outcome
    return known and change.at_us == stamp.at_us and f"{change.user}/{change.conn}" == stamp.by
