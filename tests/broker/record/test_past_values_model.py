"""Past values against a naive model: whatever was accepted, ended how, and in which order."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.record.past_values import PastValues
from broker.store.rows import HistoryPage, PastChange
from schema.arms import Slot
from schema.codecs.json_codec import pack
from schema.items import slots_of
from schema.messages import Message
from tests.handlers.builders import arm, linear, values

KEY = "twist_linear_soft_limit"
SLOTS = slots_of(KEY)
QUEUE = 2
OUTCOMES = ("applied", "rounded", "clamped", "refused", "overwritten", "superseded")
STEPS = st.lists(st.tuples(st.sampled_from(SLOTS), st.sampled_from((*OUTCOMES, "foreign"))), max_size=40)


class Rows:
    """The history of an arm as a list, oldest first."""

    def __init__(self, rows: list[PastChange]) -> None:
        self.rows = rows

    def history(self, _arm: str, after_rev: int, before_rev: int, key: str | None, limit: int) -> HistoryPage:
        found = [row for row in reversed(self.rows) if after_rev < row.rev < before_rev and row.key == key]
        return HistoryPage(changes=found[:limit], more=len(found) > limit, missing=[])

    def later(self, _arm: str, after_rev: int, key: str, limit: int) -> HistoryPage:
        found = [row for row in self.rows if row.rev > after_rev and row.key == key]
        return HistoryPage(changes=found[:limit], more=len(found) > limit, missing=[])

    def firsts(self, _arm: str, before_rev: int, key: str, limit: int) -> HistoryPage:
        return self.history("", 0, before_rev, key, limit)

    def oldest_rev(self, _arm: str) -> int:
        return 2 if self.rows else 0


class Naive:
    """An arm whose changes begin in a queue: what each slot has, and had after each revision."""

    def __init__(self) -> None:
        self.rev = 1
        self.now: dict[Slot, Message] = {slot: values()[slot] for slot in SLOTS}
        self.first = dict(self.now)
        self.open: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []

    def accept(self, slot: Slot, outcome: str) -> None:
        """One more change; one of another writer is over at once, and comes where nothing is under way."""
        while outcome == "foreign" and self.open:
            self.settle()
        self.rev += 1
        after: Message = linear(self.rev / 1000)
        row = {"rev": self.rev, "slot": slot, "before": self.now[slot], "after": after, "outcome": outcome}
        self.rows.append(row)
        if outcome == "foreign":
            self.now[slot] = after
            return
        self.open.append(row)
        if len(self.open) > QUEUE:
            self.settle()

    def settle(self) -> None:
        """The oldest change gets its end."""
        row = self.open.pop(0)
        if row["outcome"] in ("applied", "rounded", "clamped"):
            self.now[row["slot"]] = row["after"]

    def after(self, slot: Slot, rev: int) -> Message:
        """The `after` of the newest change up to a revision that took effect for good."""
        took = ("applied", "rounded", "clamped", "foreign")
        found = [
            row["after"] for row in self.rows if row["slot"] == slot and row["rev"] <= rev and row["outcome"] in took
        ]
        return found[-1] if found else self.first[slot]

    def past(self) -> PastValues:
        """The questions about it."""
        return PastValues(
            Rows(
                [
                    PastChange(
                        arm="r12", rev=row["rev"], seq=0, at_us=row["rev"], settled_at_us=0, user="u", conn="c",
                        proven=True, request_id="", method="", key=KEY, mode=row["slot"][1], before=pack(row["before"]),
                        after=pack(row["after"]), reason="", state="settled", outcome=row["outcome"],
                    )
                    for row in self.rows
                ]
            )
        )  # fmt: skip


@settings(max_examples=200)
@given(steps=STEPS)
def test_after_each_revision_there_is_what_took_effect_last(steps: list[tuple[Slot, str]]) -> None:
    naive = Naive()
    for slot, outcome in steps:
        naive.accept(slot, outcome)
    while naive.open:
        naive.settle()
    last = {slot: max((row["rev"] for row in naive.rows if row["slot"] == slot), default=1) for slot in SLOTS}
    known = values() | {slot: naive.after(slot, naive.rev) for slot in SLOTS}
    state = arm(rev=naive.rev, reported=known, last_rev={("gravity_vector", 0): 1, **last}, queue_limit=QUEUE)
    past = naive.past()
    for rev in range(1, naive.rev + 1):
        assert past.at(state, rev, SLOTS) == {slot: naive.after(slot, rev) for slot in SLOTS}, rev
