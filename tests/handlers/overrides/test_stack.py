"""The stack of overrides against a naive model: at every instant the newest live one is in force, else the ground."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.items.direction import Direction
from handlers.overrides import stack
from handlers.state.overrides import Override, Overrides
from handlers.state.places import Given, Place
from schema.envelope import Author
from schema.messages import PayloadInformation, TwistLinearSoftLimit

LINEAR, ANGULAR, PAYLOAD = ("twist_linear_soft_limit", 2), ("twist_angular_soft_limit", 2), ("payload_information", 0)
TWISTS: tuple[Place, ...] = (LINEAR, ("twist_linear_soft_limit", 4))
VELOCITIES: tuple[Place, ...] = tuple(("joint_limits", 0, f"max_velocity[{joint}]") for joint in range(3))
ALICE = Author("alice", "plc-3", proven=True)


def limit(number: float) -> TwistLinearSoftLimit:
    """A value of the slots of the model."""
    return TwistLinearSoftLimit(twist_linear_soft_limit=number)


def override(rev: int, values: Mapping[Place, Given]) -> Override:
    """A live override."""
    return Override(rev=rev, values=values, since_us=rev, until_us=rev + 1_000, by=ALICE)


def one(rev: int, number: float, slot: Place = LINEAR) -> Override:
    """An override of one slot."""
    return override(rev, {slot: limit(number)})


def stacked(ground: float, *numbers: float) -> Overrides:
    """Overrides of one slot, revisions from 1."""
    overrides: Overrides | None = None
    for rev, number in enumerate(numbers, 1):
        overrides = stack.push(overrides, one(rev, number), {LINEAR: limit(ground)})
    assert overrides is not None
    return overrides


def value_of(place: Place, number: float) -> Given:
    """A value of a place: of a part the number itself."""
    return number if place in VELOCITIES else limit(number)


class Naive:
    """What the contract says, in as few words as it can be said."""

    def __init__(self, places: tuple[Place, ...]) -> None:
        self.ground: dict[Place, float] = dict.fromkeys(places, 0.5)
        self.live: dict[int, dict[Place, float]] = {}

    def in_force(self, place: Place) -> float:
        """The newest live override, else the ground."""
        revs = [rev for rev, values in self.live.items() if place in values]
        return self.live[max(revs)][place] if revs else self.ground[place]

    def settle(self, places: tuple[Place, ...], number: float) -> None:
        """Something for good."""
        for place in places:
            self.ground[place] = number
            for values in self.live.values():
                values.pop(place, None)
        self.live = {rev: values for rev, values in self.live.items() if values}

    def keep(self, rev: int) -> None:
        """An override becomes the ground."""
        for place, number in self.live.pop(rev).items():
            self.ground[place] = number
            for other, values in self.live.items():
                if other < rev:
                    values.pop(place, None)
        self.live = {other: values for other, values in self.live.items() if values}


Act = tuple[str, int, float, tuple[Place, ...]]


def played(places: tuple[Place, ...], script: list[Act]) -> None:
    """Do the same to the stack and to the model; after each act both say the same is in force."""
    naive, overrides = Naive(places), None
    for rev, (act, which, number, of) in enumerate(script, 1):
        live = sorted(naive.live)
        if act == "push":
            values = {place: number + index / 100 for index, place in enumerate(of)}
            grounds = {place: value_of(place, naive.ground[place]) for place in values}
            overrides = stack.push(
                overrides, override(rev, {place: value_of(place, one) for place, one in values.items()}), grounds
            )
            naive.live[rev] = values
        elif act == "settle":
            overrides = None if overrides is None else stack.settle(overrides, of).left
            naive.settle(of, number)
        elif live:
            chosen = live[which % len(live)]
            assert overrides is not None
            if act == "keep":
                overrides = stack.keep(overrides, chosen).left
                naive.keep(chosen)
            else:
                overrides = stack.cut(overrides, chosen).left
                del naive.live[chosen]
        for place in places:
            found = None if overrides is None else overrides.in_force(place)
            assert found in (None, value_of(place, naive.in_force(place)))
            assert (found is None) == (not any(place in values for values in naive.live.values()))
        assert sorted(naive.live) == ([] if overrides is None else [one.rev for one in overrides.live])


numbers = st.sampled_from((0.05, 0.1, 0.2, 0.3, 0.5, 0.9))


def acts(places: tuple[Place, ...]) -> st.SearchStrategy[list[Act]]:
    """What is done to some of these places."""
    some = st.lists(st.sampled_from(places), min_size=1, unique=True).map(tuple)
    word = st.sampled_from(("push", "push", "push", "end", "keep", "settle"))
    return st.lists(st.tuples(word, st.integers(0, 9), numbers, some), max_size=14)


@given(acts(TWISTS))
def test_what_is_in_force_is_what_the_naive_model_says(script: list[Act]) -> None:
    played(TWISTS, script)


@given(acts((*VELOCITIES, *TWISTS)))
def test_ruling_23_of_parts_what_is_in_force_is_what_the_naive_model_says(script: list[Act]) -> None:
    played((*VELOCITIES, *TWISTS), script)


def test_ruling_23_what_is_set_for_good_of_one_part_leaves_the_override_of_another_one() -> None:
    first, second, _ = VELOCITIES
    played(
        VELOCITIES,
        [
            ("push", 0, 0.2, (first,)), ("settle", 0, 0.3, (second,)), ("push", 0, 0.1, (first, second)),
            ("settle", 0, 0.4, (first,)), ("end", 0, 0.0, ()), ("push", 0, 0.9, VELOCITIES), ("keep", 0, 0.0, ()),
        ],
    )  # fmt: skip
    overrides = stack.push(None, override(1, {first: 0.2}), {first: 0.5})
    done = stack.settle(overrides, (second,))
    assert (done.left, done.ended) == (overrides, ())


def test_what_is_owed_of_a_slot_is_owed_part_by_part() -> None:
    first, second, _ = VELOCITIES
    overrides = stack.push(None, override(1, {first: 0.9, second: 0.9}), {first: 0.5, second: 0.5})
    owing = stack.cut(overrides, 1, (second,)).left
    assert owing is not None
    slot = ("joint_limits", 0)
    assert (owing.owed(slot), owing.places(slot), owing.gave(slot)) == ((second,), (second,), {second: 0.9})
    assert [one.tries for one in stack.failed(owing, [slot]).returning] == [1]
    assert stack.paid(owing, slot) is None
    pushed = stack.push(owing, override(5, {first: 0.1}), {first: 0.5})
    assert pushed.owed(slot) == (second,)


def test_what_was_written_back_of_a_slot_takes_all_its_parts() -> None:
    first, second, _ = VELOCITIES
    overrides = stack.push(None, override(1, {first: 0.9, second: 0.9, LINEAR: limit(0.1)}), {LINEAR: limit(0.5)})
    left = stack.leave(overrides, 1, ("joint_limits", 0))
    assert left is not None
    assert [*left.live[0].values] == [LINEAR]


def futures(overrides: Overrides | None, ground: float, ends: list[int]) -> list[float]:
    """What is in force after each of these ends; revisions that are not live end nothing."""
    found = []
    for rev in (0, *ends):
        if overrides is not None and overrides.find(rev) is not None:
            overrides = stack.cut(overrides, rev).left
        value = None if overrides is None else overrides.in_force(LINEAR)
        found.append(value.twist_linear_soft_limit if isinstance(value, TwistLinearSoftLimit) else ground)
    return found


@given(numbers, st.lists(numbers, min_size=1, max_size=5), st.data())
def test_who_may_only_tighten_raises_no_value_now_or_ever(
    ground: float, given_: list[float], data: st.DataObject
) -> None:
    before = stacked(ground, *given_)
    ends: list[int] = data.draw(st.permutations(range(1, len(given_) + 1)))
    act = data.draw(st.sampled_from(("set", "limit for a time", "end", "extend")))
    after: Overrides | None
    new_ground, later = ground, ends
    if act in ("set", "limit for a time"):
        number = data.draw(st.sampled_from([n for n in (0.01, 0.05, 0.1, 0.2) if n <= min(ground, *given_)]))
        new_ground = number if act == "set" else ground
        after = stack.settle(before, (LINEAR,)).left if act == "set" else stack.push(before, one(9, number), {})
    else:
        chosen = data.draw(st.sampled_from(before.live))
        if act == "end":
            allowed = stack.gives_way(before, chosen)
            after = stack.cut(before, chosen.rev).left if allowed else before
        else:
            allowed = stack.direction(before, chosen) is Direction.TIGHTENING
            after = before
            later = [rev for rev in ends if rev != chosen.rev] if allowed else ends
    then = futures(after, new_ground, later)
    now = futures(before, ground, ends)
    if len(later) < len(now) - 1:  # the extended one ends later than all others
        moment = ends.index(chosen.rev) + 1
        then.insert(moment, then[moment - 1])
    assert all(new <= old for new, old in zip(then, now, strict=True))


def test_ruling_06_the_end_of_a_newer_override_leads_to_the_older_one() -> None:
    overrides = stacked(0.5, 0.1, 0.05)
    done = stack.cut(overrides, 2)
    assert done.uncovered == (LINEAR,)
    assert done.left is not None
    assert done.left.in_force(LINEAR) == limit(0.1)


def test_the_end_of_a_covered_override_uncovers_nothing() -> None:
    done = stack.cut(stacked(0.5, 0.1, 0.05), 1)
    assert done.uncovered == ()
    assert done.left is not None
    assert done.left.in_force(LINEAR) == limit(0.05)


def test_what_is_owed_keeps_the_ground_until_it_is_paid() -> None:
    done = stack.cut(stacked(0.25, 0.4), 1, (LINEAR,))
    assert done.left is not None
    assert (done.left.in_force(LINEAR), done.left.owes(LINEAR), done.left.owes(PAYLOAD)) == (limit(0.25), True, False)
    tried = stack.failed(done.left, [LINEAR])
    assert [one.tries for one in tried.returning] == [1]
    assert [one.tries for one in stack.failed(tried, [PAYLOAD]).returning] == [1]
    assert stack.paid(tried, LINEAR) is None


def test_an_override_that_takes_effect_pays_what_its_slot_owed() -> None:
    owing = stack.cut(stacked(0.25, 0.4), 1, (LINEAR,)).left
    pushed = stack.push(owing, one(7, 0.3), {LINEAR: limit(0.4)})
    assert (pushed.returning, pushed.grounds) == ((), {LINEAR: limit(0.25)})


def test_what_is_set_for_good_ends_the_overrides_of_its_slot_alone() -> None:
    both = override(1, {LINEAR: limit(0.4), PAYLOAD: PayloadInformation(1.0)})
    overrides = stack.push(None, both, {LINEAR: limit(0.25), PAYLOAD: PayloadInformation()})
    done = stack.settle(overrides, (LINEAR,))
    assert done.ended == ()
    assert done.left == Overrides({PAYLOAD: PayloadInformation()}, (override(1, {PAYLOAD: PayloadInformation(1.0)}),))
    last = stack.settle(done.left, (PAYLOAD,))
    assert (last.left, [one.rev for one in last.ended]) == (None, [1])
    elsewhere = stack.settle(done.left, (LINEAR,))
    assert (elsewhere.left, elsewhere.ended) == (done.left, ())


def test_the_steps_of_a_batch_are_one_override() -> None:
    overrides = stack.push(None, one(4, 0.1), {LINEAR: limit(0.5)})
    overrides = stack.push(overrides, one(4, 0.2, TWISTS[1]), {TWISTS[1]: limit(0.6)})
    assert [sorted(one.values) for one in overrides.live] == [sorted(TWISTS)]


def test_an_override_takes_its_place_by_its_revision() -> None:
    overrides = stack.push(stack.push(None, one(8, 0.1), {LINEAR: limit(0.5)}), one(5, 0.2), {})
    assert [one.rev for one in overrides.live] == [5, 8]
    assert overrides.in_force(LINEAR) == limit(0.1)


def test_what_is_kept_is_the_ground_below_newer_ones() -> None:
    done = stack.keep(stacked(0.5, 0.1, 0.2, 0.3), 2)
    assert [one.rev for one in done.ended] == [2, 1]
    assert done.left is not None
    assert (done.left.grounds[LINEAR], done.left.in_force(LINEAR)) == (limit(0.2), limit(0.3))


def test_what_is_kept_ends_older_ones_in_its_own_slots_alone() -> None:
    both = override(1, {LINEAR: limit(0.4), PAYLOAD: PayloadInformation(1.0)})
    overrides = stack.push(None, both, {LINEAR: limit(0.25), PAYLOAD: PayloadInformation()})
    overrides = stack.push(overrides, one(2, 0.3), {})
    overrides = stack.push(overrides, one(3, 0.2, TWISTS[1]), {TWISTS[1]: limit(0.25)})
    overrides = stack.push(overrides, one(1_000, 0.2, TWISTS[1]), {})
    done = stack.keep(overrides, 2)
    assert [one.rev for one in done.ended] == [2]
    assert done.left is not None
    assert [(one.rev, [*one.values]) for one in done.left.live] == [
        (1, [PAYLOAD]),
        (3, [TWISTS[1]]),
        (1_000, [TWISTS[1]]),
    ]


def test_a_new_end_counts_for_its_override_alone() -> None:
    overrides = stacked(0.5, 0.1, 0.2)
    moved = override(1, {LINEAR: limit(0.1)})
    assert [one.until_us for one in stack.changed(overrides, moved).live] == [1_001, 1_002]


def test_an_override_that_is_not_live_cannot_end() -> None:
    with pytest.raises(KeyError):
        stack.cut(stacked(0.5, 0.1), 9)


@pytest.mark.parametrize(
    ("ground", "given_", "expected"),
    [
        (0.5, (0.1,), Direction.TIGHTENING),
        (0.5, (0.5,), Direction.TIGHTENING),
        (0.5, (0.9,), Direction.LOOSENING),
        (0.5, (0.1, 0.3), Direction.LOOSENING),
        (0.5, (0.9, 0.6), Direction.LOOSENING),
        (0.5, (0.3, 0.1), Direction.TIGHTENING),
    ],
)
def test_the_direction_is_that_against_the_ground_and_all_below(
    ground: float, given_: tuple[float, ...], expected: Direction
) -> None:
    overrides = stacked(ground, *given_)
    assert stack.direction(overrides, overrides.live[-1]) is expected


def test_an_override_of_an_item_without_order_has_no_direction() -> None:
    payload = override(1, {PAYLOAD: PayloadInformation(1.0), LINEAR: limit(0.1)})
    overrides = stack.push(None, payload, {PAYLOAD: PayloadInformation(), LINEAR: limit(0.5)})
    assert stack.direction(overrides, payload) is Direction.UNORDERED
    looser = override(1, {PAYLOAD: PayloadInformation(1.0), LINEAR: limit(0.9)})
    overrides = stack.push(None, looser, {PAYLOAD: PayloadInformation(), LINEAR: limit(0.5)})
    assert stack.direction(overrides, looser) is Direction.LOOSENING
    assert not stack.gives_way(overrides, looser)


def test_overrides_are_whole_with_the_ground_of_every_slot() -> None:
    overrides = stacked(0.5, 0.1)
    assert overrides.is_whole
    assert not Overrides({}, overrides.live).is_whole
    owing = stack.cut(overrides, 1, (LINEAR,)).left
    assert owing is not None
    assert owing.is_whole
    assert not Overrides({}, (), owing.returning).is_whole


def test_what_is_paid_of_an_override_needs_no_ground_any_more() -> None:
    both = override(1, {LINEAR: limit(0.4), TWISTS[1]: limit(0.4)})
    overrides = stack.push(None, both, {LINEAR: limit(0.25), TWISTS[1]: limit(0.25)})
    owing = stack.cut(overrides, 1, TWISTS).left
    assert owing is not None
    left = stack.paid(owing, LINEAR)
    assert left is not None
    assert (left.is_whole, sorted(left.grounds), left.owes(("twist_linear_soft_limit", 4))) == (True, [TWISTS[1]], True)


def test_an_override_that_leaves_its_last_slot_is_gone() -> None:
    both = override(1, {LINEAR: limit(0.4), PAYLOAD: PayloadInformation(1.0)})
    overrides = stack.push(None, both, {LINEAR: limit(0.25), PAYLOAD: PayloadInformation()})
    overrides = stack.push(overrides, one(2, 0.1), {})
    left = stack.leave(overrides, 1, PAYLOAD)
    assert left is not None
    assert (sorted(left.grounds), [sorted(one.values) for one in left.live]) == ([LINEAR], [[LINEAR], [LINEAR]])
    left = stack.leave(left, 1, LINEAR)
    assert left is not None
    assert [one.rev for one in left.live] == [2]


def test_what_lay_above_all_others_gave_the_arm_what_it_has() -> None:
    overrides = stacked(0.25, 0.4, 0.1)
    for rev in (2, 1):
        left = stack.cut(overrides, rev, (LINEAR,)).left
        assert left is not None
        overrides = left
    for found in (overrides, Overrides(overrides.grounds, (), overrides.returning[::-1])):
        owing = found.owing(LINEAR)
        assert owing is not None
        assert (owing.rev, found.gave(LINEAR)) == (2, {LINEAR: limit(0.1)})
    assert overrides.owing(PAYLOAD) is None


def test_what_was_written_of_a_return_is_what_the_arm_has() -> None:
    both = override(1, {LINEAR: limit(0.4), PAYLOAD: PayloadInformation(1.0)})
    overrides = stack.push(None, both, {LINEAR: limit(0.25), PAYLOAD: PayloadInformation()})
    owing = stack.cut(overrides, 1, (LINEAR, PAYLOAD)).left
    assert owing is not None
    half = stack.half_paid(owing, LINEAR, limit(0.3))
    assert (half.gave(LINEAR), half.gave(PAYLOAD)) == ({LINEAR: limit(0.3)}, {PAYLOAD: PayloadInformation(1.0)})


def test_what_an_override_gave_after_its_end_is_owed_with_the_rest() -> None:
    first = stack.cut(stacked(0.25, 0.4), 1, (LINEAR,)).left
    again = stack.push(first, override(1, {PAYLOAD: PayloadInformation(1.0)}), {PAYLOAD: PayloadInformation()})
    left = stack.cut(again, 1, (PAYLOAD,)).left
    assert left is not None
    (owing,) = left.returning
    assert (owing.owed, owing.values) == (
        (LINEAR, PAYLOAD), {LINEAR: limit(0.4), PAYLOAD: PayloadInformation(1.0)},
    )  # fmt: skip
    assert left.is_whole
