"""PutRecipe, GetRecipe, ListRecipes, DeleteRecipe: form, versions, bounds, pages."""

import contextlib
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.methods import recipes
from handlers.rpc.outcome import Answer, RecipeDeletion, RecipeDraft, RecipePut
from handlers.rpc.source import RevisionSource, ViewSource
from handlers.state.arm_state import ArmState
from handlers.state.recipes import Shelf
from schema.envelope import Author, View
from schema.errors import BrokerError
from tests.handlers.builders import request

ITEMS = {"payload_information": {"payload_mass": 2}}
FULL: dict[str, Any] = {"name": "weld", "items": ITEMS}


def fleet() -> ArmState:
    return ArmState(arm="@all", adapter="", methods=frozenset(), resolution_rad=0.0, recipes=Shelf())


def put(state: ArmState, **params: Any) -> RecipePut:
    """What is decided, and done."""
    named = {"from": params["from"], "name": "weld"} if "from" in params else FULL
    order = recipes.put_recipe(state, request("PutRecipe", named | params))
    assert isinstance(order, RecipePut)
    if not order.unchanged:
        state.recipes.put(order.recipe)
    return order


def get(state: ArmState, **params: Any) -> dict[str, Any]:
    return result(recipes.get_recipe(state, request("GetRecipe", params)))


def page(state: ArmState, **params: Any) -> dict[str, Any]:
    return result(recipes.list_recipes(state, request("ListRecipes", params)))


def result(answer: Answer) -> dict[str, Any]:
    assert isinstance(answer.result, dict)
    return answer.result


def refused(method: Any, state: ArmState, params: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(BrokerError) as caught:
        method(state, request(method.__name__, params))
    return caught.value.kind, caught.value.message


def test_a_version_says_who_when_and_what() -> None:
    state = fleet()
    order = put(state, models=["gen3_7dof"], note="Schweißen")
    assert (order.unchanged, order.recipe.key, order.recipe.by) == (False, ("weld", 1), Author("alice", "plc-3", True))
    assert get(state, name="weld") == {
        "name": "weld",
        "version": 1,
        "items": {"payload_information": {"payload_mass": 2.0}},
        "models": ["gen3_7dof"],
        "note": "Schweißen",
        "digest": order.recipe.digest,
        "by": {"user": "alice", "connection": "plc-3", "proven": True},
        "at": "2023-11-14T22:13:20.123456Z",
        "versions": [1],
    }


def test_the_digest_is_of_items_and_models_alone() -> None:
    text = '{"items":{"payload_information":{"payload_mass":2}},"models":["a","b"]}'
    order = put(fleet(), models=["a", "b"], note="whatever")
    assert order.recipe.body == text.encode()
    assert order.recipe.digest == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert put(fleet(), models=["b", "a"]).recipe.digest != order.recipe.digest


def test_what_equals_the_head_is_no_new_version() -> None:
    state = fleet()
    put(state)
    for same in ({}, {"note": "other"}, {"items": {"payload_information": {"payload_mass": 2.0}}}, {"if_version": 1}):
        order = put(state, **same)
        assert (order.unchanged, order.recipe.version, order.recipe.note) == (True, 1, "")
    other = {"payload_information": {"payload_mass": 3}}
    assert put(state, items=other).recipe.version == 2
    assert put(state).recipe.version == 3
    assert get(state, name="weld", version=2)["items"] == {"payload_information": {"payload_mass": 3.0}}
    assert get(state, name="weld")["versions"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("params", "kind", "words"),
    [
        ({"name": None}, "malformed", "params.name: a text is needed"),
        ({"name": ""}, "malformed", "params.name: '' is no name of a recipe"),
        ({"name": "we ld"}, "malformed", "is no name of a recipe"),
        ({"name": "-weld"}, "malformed", "is no name of a recipe"),
        ({"name": "w" * 64}, "malformed", "is no name of a recipe"),
        ({"name": "weld\n"}, "malformed", "is no name of a recipe"),
        ({"nam": "weld"}, "unknown_field", "params.'nam': no such field"),
        ({"from": {"items": ITEMS}}, "malformed", "params: one of items and from is needed"),
        ({"items": None}, "malformed", "params.items: null is given"),
        ({"items": {"control_mode": {}}}, "unsupported_option", "params.items.control_mode: "),
        ({"items": {"gravity": {}}}, "unknown_field", "params.items.gravity: "),
        ({"items": {"payload_information": {"payload_mass": float("nan")}}}, "not_finite", "payload_mass"),
        ({"models": "gen3_7dof"}, "malformed", "params.models: a list of texts"),
        ({"models": [1]}, "malformed", "params.models: a list of texts"),
        ({"models": [""]}, "malformed", "params.models: a list of texts"),
        ({"models": ["m" * 65]}, "malformed", "params.models: a list of texts"),
        ({"models": ["a", "a"]}, "malformed", "params.models: at most 64, each once"),
        ({"models": [str(n) for n in range(65)]}, "malformed", "params.models: at most 64, each once"),
        ({"note": "n" * 1_001}, "out_of_limits", "params.note: 1001 characters > 1000"),
        ({"note": 1}, "malformed", "params.note: a text is needed"),
        ({"if_version": -1}, "out_of_limits", "params.if_version"),
        ({"if_version": 1}, "revision_conflict", "params.if_version: 1, there is no recipe weld. Nothing was changed."),
    ],
)
def test_what_is_no_recipe_is_refused(params: dict[str, Any], kind: str, words: str) -> None:
    state = fleet()
    found = refused(recipes.put_recipe, state, FULL | params)
    assert (found[0], words in found[1]) == (kind, True), found
    assert state.recipes.names == []


@pytest.mark.parametrize(
    ("params", "kind", "words"),
    [
        ({}, "malformed", "params: one of items and from is needed"),
        ({"from": "r12"}, "malformed", "params.from: an object is needed"),
        ({"from": {}}, "malformed", "params.from.arm: the arm is needed, @all is none"),
        ({"from": {"view": "reported"}}, "malformed", "params.from.arm: the arm is needed, @all is none"),
        ({"from": {"rev": 3}}, "malformed", "params.from.arm: the arm is needed, @all is none"),
        ({"from": {"arm": "r12", "view": "best"}}, "unknown_enum", "params.from.view: 'best' is no view"),
        ({"from": {"items": {"control_mode": {}}}}, "unsupported_option", "params.from.items.control_mode: "),
        ({"from": {"recipe": "glue"}}, "unknown_recipe", "no recipe glue"),
        ({"from": {"recipe": "glue", "version": 2}}, "unknown_recipe", "no recipe glue"),
    ],
)
def test_a_source_that_is_none_is_refused(params: dict[str, Any], kind: str, words: str) -> None:
    found = refused(recipes.put_recipe, fleet(), {"name": "weld"} | params)
    assert (found[0], words in found[1]) == (kind, True), found


def test_values_come_from_the_request_from_a_recipe_or_from_an_arm() -> None:
    state = fleet()
    assert put(state, **{"from": {"items": ITEMS}}).recipe.key == ("weld", 1)
    put(state, items={"gravity_vector": {}})
    copy = put(state, name="copy", **{"from": {"recipe": "weld", "version": 1}}).recipe
    assert (copy.key, copy.body) == (("copy", 1), state.recipes.find("weld", 1).body)  # type: ignore[union-attr]
    assert put(state, name="head", **{"from": {"recipe": "weld"}}).recipe.body != copy.body
    for source, meant in (
        ({"arm": "r12"}, ViewSource("r12", View.GROUND)),
        ({"arm": "r12", "view": "reported"}, ViewSource("r12", View.REPORTED)),
        ({"arm": "r12", "rev": 3}, RevisionSource("r12", 3)),
    ):
        asked = request("PutRecipe", {"name": "weld", "from": source})
        assert recipes.put_recipe(state, asked) == RecipeDraft(meant)


def test_another_version_than_the_one_that_is_known_stays() -> None:
    state = fleet()
    put(state, if_version=0)
    put(state, items={"gravity_vector": {"z": -9.81}}, if_version=1)
    for known in (0, 1, 3):
        kind, words = refused(recipes.put_recipe, state, FULL | {"if_version": known})
        assert (kind, words) == (
            "revision_conflict", f"params.if_version: {known}, weld is at version 2. Nothing was changed.",
        )  # fmt: skip
        assert refused(recipes.delete_recipe, state, {"name": "weld", "if_version": known})[0] == "revision_conflict"
    assert recipes.delete_recipe(state, request("DeleteRecipe", {"name": "weld", "if_version": 2})) == RecipeDeletion(
        state.recipes.find("weld")  # type: ignore[arg-type]  # it is there
    )


def test_names_bytes_of_one_and_bytes_of_all_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    state = fleet()
    monkeypatch.setattr(recipes, "NAMES_MOST", 2)
    for name in ("a", "b"):
        put(state, name=name)
    kind, words = refused(recipes.put_recipe, state, FULL)
    assert (kind, words) == ("no_room", "there are 2 recipes, the most that are kept. Nothing was changed.")
    put(state, name="a", items={"gravity_vector": {}})
    state.recipes.delete("b")
    put(state)
    monkeypatch.setattr(recipes, "ALL_MOST", state.recipes.size + 10)
    assert refused(recipes.put_recipe, state, FULL | {"items": {"gravity_vector": {"x": 1}}})[0] == "no_room"
    monkeypatch.setattr(recipes, "BODY_MOST", 66)
    assert put(fleet(), items={"gravity_vector": {}}).recipe.version == 1
    monkeypatch.setattr(recipes, "BODY_MOST", 65)
    kind, words = refused(recipes.put_recipe, fleet(), FULL | {"items": {"gravity_vector": {}}})
    assert (kind, words) == ("too_large", "params: 66 bytes of items and models, at most 65. Nothing was changed.")


def test_what_is_not_there_is_told_with_what_may_be_meant() -> None:
    state = fleet()
    put(state)
    put(state, items={"gravity_vector": {}})
    assert refused(recipes.get_recipe, state, {"name": "wled"}) == (
        "unknown_recipe", "no recipe wled; did you mean 'weld'? Nothing was changed.",
    )  # fmt: skip
    for version in (3, 99):
        assert refused(recipes.get_recipe, state, {"name": "weld", "version": version}) == (
            "unknown_recipe", f"recipe weld: version {version} is not there: 1 to 2 are. Nothing was changed.",
        )  # fmt: skip
    assert refused(recipes.get_recipe, state, {"name": "weld", "version": 0})[0] == "out_of_limits"
    assert refused(recipes.get_recipe, state, {"name": "weld", "versions": 1})[0] == "unknown_field"
    assert refused(recipes.delete_recipe, state, {"name": "wel"})[0] == "unknown_recipe"
    state.recipes.took(None, ("weld", 1))
    state.recipes.delete("weld")
    assert refused(recipes.get_recipe, state, {"name": "weld"})[1] == "no recipe weld. Nothing was changed."
    assert get(state, name="weld", version=1)["versions"] == [1]
    found = {"name": "weld", "version": 1}
    with pytest.raises(BrokerError, match="version 1 can only be read: it was deleted") as caught:
        recipes.found_recipe(state.recipes, found, "name", listed=True)
    assert caught.value.kind == "unknown_recipe"
    assert refused(recipes.get_recipe, state, {"name": "weld", "version": 2})[1].endswith(
        "is not there: 1 are. Nothing was changed."
    )


def test_lists_are_in_order_of_name_page_by_page() -> None:
    state = fleet()
    for name in ("weld-10", "weld-9", "glue", "Weld"):
        put(state, name=name)
    state.recipes.took(None, ("glue", 1))
    assert [one["name"] for one in page(state)["recipes"]] == ["Weld", "glue", "weld-10", "weld-9"]
    first = page(state, limit=1, prefix="weld")
    assert ([one["name"] for one in first["recipes"]], first["more"]) == (["weld-10"], True)
    rest = page(state, limit=1, prefix="weld", after="weld-10")
    assert ([one["name"] for one in rest["recipes"]], rest["more"]) == (["weld-9"], False)
    assert page(state, prefix="x") == {"recipes": [], "more": False}
    entry = page(state, prefix="glue")["recipes"][0]
    assert list(entry) == ["name", "version", "models", "note", "digest", "by", "at", "arms"]
    assert (entry["arms"], page(state, prefix="Weld")["recipes"][0]["arms"]) == (1, 0)
    for limit in (0, 501):
        assert refused(recipes.list_recipes, state, {"limit": limit})[0] == "out_of_limits"
    assert refused(recipes.list_recipes, state, {"limits": 1})[0] == "unknown_field"


def test_a_page_ends_where_it_would_be_too_long() -> None:
    state = fleet()
    for number in range(200):
        put(state, name=f"weld-{number:03}", note="n" * 1_000)
    names: list[str] = []
    more, after = True, ""
    while more:
        told = page(state, limit=500, after=after)
        assert len(json.dumps(told)) <= 60_000
        names += [one["name"] for one in told["recipes"]]
        more, after = told["more"], names[-1]
    assert names == [f"weld-{number:03}" for number in range(200)]


_WORDS = [
    "name",
    "items",
    "from",
    "models",
    "note",
    "if_version",
    "arm",
    "view",
    "rev",
    "recipe",
    "version",
    "weld",
    "limit",
    "after",
    "gravity_vector",
    "twist_linear_soft_limit",
    "CARTESIAN_JOYSTICK",
    "joint_safety",
    "joints",
    "x",
    "values",
    "joint_limits",
    "max_velocity",
    "joint_parameters",
    "parameters",
    "tool_configuration",
    "tool_transform",
]
_TEXTS = st.text(max_size=5) | st.sampled_from(_WORDS)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(_TEXTS, _JSON, max_size=6), st.sampled_from(sorted(FULL)), _JSON)
def test_whatever_params_hold_they_are_taken_or_refused_by_kind(
    params: dict[str, Any], key: str, value: object
) -> None:
    state = fleet()
    put(state)
    methods = (recipes.put_recipe, recipes.get_recipe, recipes.list_recipes, recipes.delete_recipe)
    for method in methods:
        for given_params in (params, FULL | params, FULL | {key: value}):
            with contextlib.suppress(BrokerError):
                method(state, request("x", given_params))
    assert state.recipes.names == ["weld"]
