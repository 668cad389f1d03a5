"""The shelf of recipes: what is kept, what goes, and that no number is used twice, whatever is done to it."""

import random
from collections import defaultdict

import msgspec
import pytest

from handlers.state import recipes
from handlers.state.recipes import VERSIONS_KEPT, Key, Moved, Recipe, Shelf
from schema.envelope import Author

ALICE = Author("alice", "plc-3", proven=True)


def recipe(name: str, version: int, text: str = "") -> Recipe:
    body = msgspec.json.encode({"items": {"payload_information": {"payload_mass": float(version)}}, "models": [text]})
    return Recipe(name, version, body, f"{version:016x}", "", ALICE, version)


def put(shelf: Shelf, name: str) -> Moved:
    return shelf.put(recipe(name, shelf.next_version(name)))


def applied(rows: dict[Key, Recipe], moved: Moved) -> None:
    """What the store has after a change."""
    for key in moved.dropped:
        rows.pop(key, None)
    rows.update((one.key, one) for one in moved.put)


def test_versions_count_from_one_and_go_on_after_a_deletion() -> None:
    shelf = Shelf()
    assert (shelf.next_version("weld"), shelf.find("weld"), shelf.versions("weld")) == (1, None, [])
    put(shelf, "weld")
    put(shelf, "weld")
    assert shelf.head("weld") == shelf.find("weld") == shelf.find("weld", 2) == recipe("weld", 2)
    moved = shelf.delete("weld")
    assert moved.dropped == (("weld", 1),)
    assert [(one.key, one.body, one.listed) for one in moved.put] == [(("weld", 2), b"", False)]
    assert (shelf.names, shelf.find("weld"), shelf.find("weld", 2), shelf.size) == ([], None, None, 0)
    moved = put(shelf, "weld")
    assert ([one.version for one in moved.put], moved.dropped) == ([3], (("weld", 2),))
    assert (shelf.names, shelf.versions("weld")) == (["weld"], [3])


def test_the_last_hundred_versions_stay_and_those_that_an_arm_has() -> None:
    shelf = Shelf()
    put(shelf, "weld")
    shelf.took(None, ("weld", 1))
    for _ in range(VERSIONS_KEPT + 1):
        put(shelf, "weld")
    assert shelf.versions("weld") == [1, *range(3, 103)]
    first = shelf.find("weld", 1)
    assert first is not None
    assert (first.listed, shelf.users(first)) == (False, 1)
    moved = shelf.took(("weld", 1), ("weld", 102))
    assert moved == Moved(dropped=(("weld", 1),))
    assert shelf.find("weld", 1) is None
    assert shelf.took(("weld", 102), None) == Moved()


def test_what_an_arm_has_can_be_read_after_a_deletion_until_the_arm_has_another_one() -> None:
    shelf = Shelf()
    for _ in range(3):
        put(shelf, "weld")
    for version in (2, 3):
        shelf.took(None, ("weld", version))
    moved = shelf.delete("weld")
    assert moved.dropped == (("weld", 1),)
    assert [(one.version, bool(one.body), one.listed) for one in moved.put] == [(2, True, False), (3, True, False)]
    assert shelf.versions("weld") == [2, 3]
    assert shelf.took(("weld", 2), None) == Moved(dropped=(("weld", 2),))
    moved = shelf.took(("weld", 3), None)
    assert [(one.key, one.body) for one in moved.put] == [(("weld", 3), b"")]
    assert shelf.next_version("weld") == 4


def test_a_version_that_nobody_knows_changes_nothing() -> None:
    shelf = Shelf()
    assert shelf.took(None, ("weld", 7)) == shelf.took(("weld", 7), ("weld", 7)) == shelf.took(("weld", 7), None)
    assert shelf.names == []


def test_two_arms_have_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "VERSIONS_KEPT", 1)
    shelf = Shelf()
    put(shelf, "weld")
    shelf.took(None, ("weld", 1))
    shelf.took(None, ("weld", 1))
    put(shelf, "weld")
    put(shelf, "weld")
    assert shelf.versions("weld") == [1, 3]
    assert shelf.took(("weld", 1), ("weld", 3)) == Moved()
    assert shelf.took(("weld", 1), ("weld", 3)) == Moved(dropped=(("weld", 1),))


def test_what_a_change_is_to_bring_is_kept_until_that_has_an_end() -> None:
    shelf = Shelf()
    for _ in range(2):
        put(shelf, "weld")
    shelf.await_end(("weld", 1))
    shelf.await_end(("weld", 1))
    moved = shelf.delete("weld")
    assert [(one.version, bool(one.body)) for one in moved.put] == [(1, True), (2, False)]
    found = shelf.find("weld", 1)
    assert found is not None
    assert shelf.users(found) == 0
    shelf.ended(("weld", 1))
    assert shelf.swept() == Moved()
    assert shelf.took(None, ("weld", 1)) == shelf.swept() == Moved()
    shelf.ended(("weld", 1))
    assert shelf.swept() == Moved()
    assert shelf.took(("weld", 1), None) == Moved(dropped=(("weld", 1),))
    put(shelf, "glue")
    shelf.await_end(("glue", 1))
    shelf.delete("glue")
    shelf.ended(("glue", 1))
    assert [(one.key, one.body) for one in shelf.swept().put] == [(("glue", 1), b"")]


def test_names_deleted_long_ago_are_forgotten_but_not_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "FORGOTTEN_KEPT", 2)
    shelf = Shelf()
    for _ in range(5):
        put(shelf, "a")
    for name in ("b", "c", "d"):
        put(shelf, name)
    assert shelf.delete("a").dropped == tuple(("a", number) for number in range(1, 5))
    assert not shelf.delete("b").dropped
    assert (shelf.floor, shelf.next_version("new")) == (0, 1)
    assert shelf.delete("c").dropped == (("a", 5),)
    assert (shelf.floor, shelf.next_version("new"), shelf.next_version("a")) == (5, 6, 6)
    assert shelf.next_version("d") == 6


def test_values_and_models_are_read_from_the_body() -> None:
    found = recipe("weld", 2, "gen3_7dof")
    assert found.models == ("gen3_7dof",)
    assert list(found.values) == [("payload_information", 0)]
    assert found.label == "weld@2"


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_done_the_store_says_the_same_and_no_number_comes_again(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipes, "VERSIONS_KEPT", 3)
    monkeypatch.setattr(recipes, "FORGOTTEN_KEPT", 1)
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    shelf, rows = Shelf(), dict[Key, Recipe]()
    lasts: dict[str, Key | None] = defaultdict(lambda: None)
    given: set[Key] = set()
    for _ in range(400):
        name, action = rng.choice("abc"), rng.random()
        if action < 0.5:
            new = recipe(name, shelf.next_version(name))
            assert new.key not in given
            given.add(new.key)
            applied(rows, shelf.put(new))
        elif action < 0.65 and shelf.head(name) is not None:
            applied(rows, shelf.delete(name))
        elif (head := shelf.head(name)) is not None:
            arm = rng.choice(("r1", "r2"))
            now = None if action > 0.95 else rng.choice([head.key, (name, rng.choice(shelf.versions(name)))])
            applied(rows, shelf.took(lasts[arm], now))
            lasts[arm] = now
        if rng.random() < 0.1:  # a start
            shelf = Shelf(tuple(rows.values()), shelf.floor)
            for last in filter(None, lasts.values()):
                assert shelf.took(None, last) == Moved()
        _check(shelf, rows, [last for last in lasts.values() if last is not None])


def _check(shelf: Shelf, rows: dict[Key, Recipe], lasts: list[Key]) -> None:
    readable = {key for key, one in rows.items() if one.body}
    assert {(name, number) for name in "abc" for number in shelf.versions(name)} == readable
    assert shelf.size == sum(len(one.body) for one in rows.values())
    assert all(shelf.find(*key) == rows[key] for key in readable)
    assert all(key in readable for key in lasts)
    listed = [key for key, one in rows.items() if one.listed]
    assert sorted({name for name, _ in listed}) == shelf.names
    for name in shelf.names:
        numbers = sorted(number for other, number in listed if other == name)
        assert len(numbers) <= 3
        assert shelf.find(name) == rows[name, numbers[-1]]
    kept = {key for key in readable if not rows[key].listed}
    assert kept <= set(lasts)
    assert sum(not one.body for one in rows.values()) <= 1 + len({"a", "b", "c"})
