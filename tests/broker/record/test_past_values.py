"""What a store's history tells of past values, asked of a real store."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.arms.batch_job import BatchRecord, StepRecord, pack_values
from broker.record import past_values
from broker.record.past_values import PastValues
from broker.store.rows import ChangeRow, ChangeUpdate, Terms
from broker.store.schema import connect
from broker.store.store import FILE, Store
from handlers.state.arm_state import ArmState
from handlers.state.provenance import Stamp
from schema.codecs.json_codec import pack
from schema.errors import BrokerError
from schema.messages import Message
from tests.handlers.builders import arm, linear, never_read, values

KEY, MODE = "twist_linear_soft_limit", 2
TWIST, OTHER = (KEY, MODE), (KEY, 4)
AT_US = 1_700_000_000_000_000


class History:
    """Writes the history of r12 into a store, one revision after the other, beginning with 2."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = Store.open(directory, lambda: AT_US)
        self.rev = 1

    def add(self, before: float, after: float, outcome: str = "applied", *, mode: int = MODE, **given: Any) -> int:
        """A settled change of a twist limit; its revision."""
        blobs = {"before": pack(linear(before)), "after": pack(linear(after))}
        return self.put(outcome, **({"mode": mode} | blobs | given))

    def put(self, outcome: str, **given: Any) -> int:
        self.rev = given.pop("rev", self.rev + 1)
        n = given.pop("n", self.rev)
        known: dict[str, Any] = {
            "arm": "r12", "rev": self.rev, "verb": "set", "key": KEY, "at_us": AT_US + n, "user": "alice",
            "conn": "plc-3", "request_id": f"alice/plc-3/{n}", "method": "SetTwistLinearSoftLimit",
        }  # fmt: skip
        change = ChangeRow(n=n, **known | given)
        self.store.batch.add_change(change)
        state = "settled" if outcome else "accepted"
        update = ChangeUpdate(n=n, state=state, after=change.after, outcome=outcome, settled_at_us=AT_US + n)
        self.store.batch.update_change(update)
        return self.rev

    def past(self) -> PastValues:
        """The questions, once all is committed."""
        self.store.close()
        self.store = Store.open(self.directory, lambda: AT_US)
        return PastValues(self.store)

    def state(self, **last_rev: int) -> ArmState:
        """The arm as it is now, its last change of the twist limit told by `twist`."""
        reported = values() | {TWIST: linear(0.9)}
        revs = {TWIST: last_rev.get("twist", self.rev), OTHER: last_rev.get("other", 1)}
        return arm(rev=self.rev, reported=reported, last_rev=revs)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    made = History(tmp_path / "store")
    yield made
    made.store.close()


def at(history: History, *revs: int, **last_rev: int) -> list[Message | None]:
    past, state = history.past(), history.state(**last_rev)
    return [past.at(state, rev, [TWIST]).get(TWIST) for rev in revs]


def test_a_value_is_that_of_the_newest_change_up_to_the_revision_that_took_effect(history: History) -> None:
    history.add(0.25, 0.2)
    history.add(0.2, 0.3, "refused")
    history.add(0.2, 0.4, "foreign", user="@arm", conn="")
    history.add(0.4, 0.1, "clamped")
    history.add(0.1, 0.15, "rounded")
    history.add(0.15, 0.9, "overwritten")
    found = at(history, 1, 2, 3, 4, 5, 6)
    assert found == [linear(value) for value in (0.25, 0.2, 0.2, 0.4, 0.1, 0.15)]


def test_a_slot_that_did_not_change_since_has_what_it_has(history: History) -> None:
    history.add(0.25, 0.2, mode=OTHER[1])
    assert at(history, 1, 2, twist=1) == [linear(0.9), linear(0.9)]


def test_before_its_first_change_a_slot_had_what_that_found(history: History) -> None:
    history.add(0.3, 0.2, mode=OTHER[1])
    history.add(0.25, 0.2, "refused")
    history.add(0.25, 0.1)
    history.add(0.1, 0.05)
    assert at(history, 1, 2, 3) == [linear(0.25)] * 3


def test_many_changes_are_read_page_by_page(history: History) -> None:
    for number in range(200):
        history.add(number / 1000, (number + 1) / 1000)
    assert at(history, 1, 2, 100, 200) == [linear(0.0), linear(0.001), linear(0.099), linear(0.199)]


def test_what_was_not_known_then_is_left_out(history: History) -> None:
    history.put("applied", mode=MODE, before=None, after=pack(linear(0.2)))
    assert at(history, 1) == [None]


def test_overrides_and_their_returns_do_not_move_what_lies_below(history: History) -> None:
    history.add(0.25, 0.2)
    history.add(0.2, 0.4, terms=Terms(until_us=AT_US))
    history.add(0.4, 0.2, terms=Terms(returned_from=3))
    history.add(0.2, 0.1, terms=Terms(ground=pack(linear(0.15))))
    history.add(0.1, 0.05)
    assert at(history, 2, 3, 4, 5) == [linear(0.2), linear(0.2), linear(0.2), linear(0.15)]


def test_an_override_tells_what_it_covers_however_long_ago_that_was_set(history: History) -> None:
    history.add(0.25, 0.2)
    for _ in range(30):
        history.add(0.3, 0.3, mode=OTHER[1])
    history.add(0.2, 0.4, terms=Terms(until_us=AT_US, ground=pack(linear(0.2))))
    history.add(0.4, 0.35, "refused", terms=Terms(ground=pack(linear(0.2))))
    history.add(0.4, 0.1)
    past, state = history.past(), history.state()
    state.queue_limit = 2
    assert [past.at(state, rev, [TWIST]) for rev in (33, 34)] == [{TWIST: linear(0.2)}] * 2


def test_below_an_override_of_several_slots_lies_what_was_set_for_good(history: History) -> None:
    history.add(0.25, 0.2)
    for _ in range(30):
        history.add(0.3, 0.3, mode=OTHER[1])
    batch(history, {0.2: 0.4}, "applied", terms=Terms(until_us=AT_US))
    history.add(0.4, 0.1)
    past, state = history.past(), history.state()
    state.queue_limit = 2
    assert past.at(state, 33, [TWIST]) == {TWIST: linear(0.2)}


def test_below_the_first_override_lies_what_that_found(history: History) -> None:
    batch(history, {0.25: 0.4}, "applied", terms=Terms(until_us=AT_US))
    batch(history, {0.4: 0.3}, "applied", terms=Terms(until_us=AT_US))
    history.add(0.3, 0.25, terms=Terms(returned_from=3))
    history.add(0.25, 0.1)
    assert at(history, 2, 3, 4) == [linear(0.25)] * 3


def test_what_a_restore_of_an_earlier_version_did_is_told_by_the_next_change(history: History) -> None:
    history.add(0.25, 0.2)
    path = b'{"twist_linear_soft_limit/CARTESIAN_JOYSTICK":"applied"}'
    history.put("applied", key="control_configuration", verb="restore", method="RestoreFactory", after=path)
    history.add(0.3, 0.1)
    assert at(history, 2, 3) == [linear(0.2), linear(0.3)]


def batch(history: History, values: dict[float, float], outcome: str, **given: Any) -> int:
    """A batch of one value, from which to which, with what became of it."""
    ((before, after),) = values.items()
    step = StepRecord(TWIST, "set", pack(linear(after)), outcome)
    record = msgspec.msgpack.encode(BatchRecord((step,)))
    known = {"key": "control_configuration", "method": "ApplyConfig", "before": pack_values({TWIST: linear(before)})}
    return history.put("applied", **(known | given), after=record)


def test_a_batch_sets_its_slots_as_far_as_they_took_effect(history: History) -> None:
    batch(history, {0.25: 0.2}, "applied")
    batch(history, {0.2: 0.5}, "not_begun")
    batch(history, {0.2: 0.4}, "applied", terms=Terms(until_us=AT_US))
    history.add(0.4, 0.3, mode=OTHER[1])
    batch(history, {0.2: 0.15}, "rounded")
    history.add(0.15, 0.1)
    assert at(history, 1, 2, 3, 4, 5, 6) == [linear(value) for value in (0.25, 0.2, 0.2, 0.2, 0.2, 0.15)]
    found = PastValues(history.store).set_by(history.state(), TWIST, [stamp(6), stamp(3)])
    assert {one: change.rev for one, change in found.items()} == {stamp(6): 6}


@pytest.mark.parametrize(
    ("rev", "name", "words"),
    [
        (900, "VALUE_IS_ABOVE_MAXIMUM", "params.rev: 900 > 5, the present revision of r12. Nothing was changed."),
        (2, "VALUE_IS_BELOW_MINIMUM", "params.rev: 2 < 3, the revision at which r12 was adopted. Nothing was changed."),
    ],
)
def test_a_revision_lies_between_the_last_adoption_and_now(history: History, rev: int, name: str, words: str) -> None:
    history.add(0.25, 0.2)
    history.put("applied", key="arm", method="ConfirmArm", before=b'"S-1"', after=b'"S-2"')
    history.put("refused", key="arm", method="ConfirmArm")
    history.add(0.25, 0.2)
    past, state = history.past(), history.state(other=3)
    assert past.adopted_rev(state) == past.adopted_rev(state) == 3
    with pytest.raises(BrokerError) as caught:
        past.at(state, rev, [TWIST])
    assert (caught.value.kind, caught.value.name, caught.value.message) == ("out_of_limits", name, words)


def test_what_the_history_no_longer_tells_is_refused_with_the_bound(history: History) -> None:
    for number in range(1, 9):
        history.add(number / 100, (number + 1) / 100)
    history.store.close()
    with closing(connect(history.directory / FILE)) as connection:
        connection.execute("DELETE FROM job WHERE rev < 6")
    past, state = PastValues(Store.open(history.directory, lambda: AT_US)), history.state()
    with pytest.raises(BrokerError) as caught:
        past.at(state, 4, [TWIST], "params.from.rev")
    assert caught.value.message.startswith("params.from.rev: 4 < 5, the oldest that the history of r12 tells of")
    assert past.at(state, 5, [TWIST]) == {TWIST: linear(0.05)}
    history.store.close()


def test_an_arm_that_was_never_read_has_no_past(history: History) -> None:
    with pytest.raises(BrokerError) as caught:
        history.past().at(never_read(), 1, [TWIST])
    assert caught.value.kind == "arm_not_read"


def test_nobody_guesses_across_a_damaged_row(history: History) -> None:
    history.add(0.25, 0.2)
    history.add(0.2, 0.1)
    history.store.close()
    with closing(connect(history.directory / FILE)) as connection:
        connection.execute("UPDATE job SET accepted = zeroblob(40) WHERE rev = 2")
    past = PastValues(Store.open(history.directory, lambda: AT_US))
    with pytest.raises(BrokerError) as caught:
        past.at(history.state(), 2, [TWIST])
    assert caught.value.kind == "internal"
    assert "revision 2 of r12 is damaged" in caught.value.message


def test_whoever_was_refused_does_not_hide_an_adoption(history: History) -> None:
    history.put("applied", key="arm", method="ConfirmArm", before=b'"S-1"', after=b'"S-2"')
    for number in range(200):
        history.put("refused", key="arm", rev=2, n=1000 + number)
    history.rev = 2
    history.add(0.25, 0.2)
    assert history.past().adopted_rev(history.state(other=3)) == 2


def test_nobody_reaches_back_beyond_what_can_be_looked_at(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        history.put("refused", key="arm")
    monkeypatch.setattr(past_values, "LOOKED_AT_MOST", 3)
    monkeypatch.setattr(past_values, "_PAGE", 2)
    assert history.past().adopted_rev(history.state(other=6)) == 3


def test_a_damaged_entry_may_have_been_an_adoption(history: History) -> None:
    history.put("applied", key="arm", method="ConfirmArm")
    history.put("refused", key="arm")
    history.store.close()
    with closing(connect(history.directory / FILE)) as connection:
        connection.execute("UPDATE job SET accepted = zeroblob(40) WHERE rev = 2")
    past = PastValues(Store.open(history.directory, lambda: AT_US))
    assert past.adopted_rev(history.state(other=3)) == 2


def test_a_question_looks_at_so_many_changes_at_most(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        history.add(0.3, 0.2, mode=OTHER[1])
    history.add(0.25, 0.2)
    past, state = history.past(), history.state(twist=7)
    assert past.at(state, 1, [TWIST]) == past.at(state, 5, [TWIST]) == {TWIST: linear(0.25)}
    monkeypatch.setattr(past_values, "LOOKED_AT_MOST", 3)
    assert past.at(state, 6, [TWIST]) == {TWIST: linear(0.25)}
    with pytest.raises(BrokerError) as caught:
        past.at(state, 1, [TWIST])
    assert (caught.value.kind, caught.value.name) == ("out_of_limits", "VALUE_IS_BELOW_MINIMUM")
    assert caught.value.message == "params.rev: 1: more than 3 changes lie between; name fewer items"


def test_so_far_back_as_changes_can_be_pending_is_looked_and_no_further(history: History) -> None:
    history.add(0.25, 0.2)
    for _ in range(300):
        history.add(0.3, 0.3, mode=OTHER[1])
    history.add(0.2, 0.1)
    past, state = history.past(), history.state()
    state.queue_limit = 8
    queries: list[str] = []
    history.store._connection.set_trace_callback(queries.append)
    assert past.at(state, 301, [TWIST]) == {TWIST: linear(0.2)}
    assert len([query for query in queries if "LIMIT 65" in query]) == 1


def test_a_revision_far_back_costs_no_more_than_a_near_one(history: History) -> None:
    for number in range(400):
        history.add(number / 1000, (number + 1) / 1000)
    past, state = history.past(), history.state()
    queries: list[str] = []
    history.store._connection.set_trace_callback(queries.append)
    assert past.at(state, 3, [TWIST]) == {TWIST: linear(0.002)}
    assert len(queries) <= 8


def stamp(rev: int, by: str = "alice/plc-3") -> Stamp:
    return Stamp(by, AT_US + rev)


def test_the_change_that_set_a_value_is_found_by_its_author_and_time(history: History) -> None:
    history.add(0.25, 0.2)
    history.add(0.2, 0.3, user="bob", conn="hmi")
    history.add(0.3, 0.9, "refused", user="bob", conn="hmi")
    past, state = history.past(), history.state()
    found = past.set_by(state, TWIST, [stamp(2), stamp(3, "bob/hmi"), stamp(4, "bob/hmi"), stamp(9)])
    assert {one: change.rev for one, change in found.items()} == {stamp(2): 2, stamp(3, "bob/hmi"): 3}


def test_of_a_change_whose_end_is_not_stored_yet_the_author_tells_that_it_took_effect(history: History) -> None:
    history.add(0.25, 0.2)
    history.add(0.2, 0.3, "", user="@service", conn="")
    found = history.past().set_by(history.state(), TWIST, [stamp(3, "@service/")])
    assert [change.rev for change in found.values()] == [3]


def test_a_foreign_change_was_stamped_a_little_before_its_row(history: History) -> None:
    history.add(0.25, 0.2, "foreign", user="@arm", conn="")
    history.add(0.2, 0.3, "foreign", user="@arm", conn="")
    history.add(0.3, 0.1, "refused")
    found = history.past().set_by(history.state(), TWIST, [Stamp("@arm", AT_US + 3 - 1)])
    assert [change.rev for change in found.values()] == [2]
    found = PastValues(history.store).set_by(history.state(), TWIST, [Stamp("@arm", AT_US + 3)])
    assert [change.rev for change in found.values()] == [3]


def test_what_was_there_at_the_adoption_nobody_set(history: History) -> None:
    assert history.past().set_by(history.state(twist=1), TWIST, [Stamp("@arm", AT_US)]) == {}
    history.add(0.25, 0.2, mode=OTHER[1])
    assert history.past().set_by(history.state(twist=1, other=2), TWIST, [Stamp("@arm", AT_US)]) == {}
    history.add(0.25, 0.2)
    past = history.past()
    assert past.set_by(history.state(), TWIST, [Stamp("@settings", AT_US), Stamp()]) == {}
