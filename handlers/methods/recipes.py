"""PutRecipe, GetRecipe, ListRecipes, DeleteRecipe: the recipes of the service, which belong to no arm."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from handlers.compare.sources import read_source
from handlers.rpc.outcome import Answer, RecipeDeletion, RecipeDraft, RecipePut
from handlers.rpc.plain_params import integer, known_only, plain_params, quoted, text
from handlers.rpc.request import Request
from handlers.rpc.source import LiteralSource, RecipeSource, Source
from handlers.state.arm_state import ArmState
from handlers.state.recipes import Recipe, Shelf
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import FLEET, Slot
from schema.codecs.canonical import canonical, digest_of
from schema.codecs.items_form import given_items, read_items
from schema.codecs.times import format_time
from schema.envelope import View
from schema.errors import BrokerError
from schema.messages import Message
from schema.nearest import did_you_mean

NAMES_MOST = 1_000
"""Recipes at most."""
BODY_MOST = 60 * 1024
"""Bytes of the items and models of a recipe at most."""
ALL_MOST = 64 * 1024 * 1024
"""The same of all versions of all recipes."""
NOTE_MOST = 1_000
"""Characters of a note at most."""
MODELS_MOST, MODEL_LONGEST = 64, 64
"""Models of a recipe at most, and characters of each."""
PAGE, PAGE_MOST = 50, 500
"""Recipes of one answer: unless told, and at most."""
PAGE_BYTES = 60_000 - 2_000
"""Most bytes of the recipes of one page."""
_HIGHEST = (1 << 53) - 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")

Params = Mapping[str, object]


def put_recipe(state: ArmState, request: Request) -> RecipePut | RecipeDraft:
    """PutRecipe: the next version of a recipe, unless its values and models are those of the present one.

    Raises:
        BrokerError: as `put_values`; unknown_field, unknown_enum, mode_without_limit, not_finite, unknown_recipe.
    """
    params = plain_params(request)
    known_only(params, ("name", "items", "from", "models", "note", "if_version"))
    if ("items" in params) == ("from" in params):
        raise BrokerError("malformed", f"params: one of items and from is needed. {NOTHING_CHANGED}")
    source = _source(params)
    if isinstance(source, LiteralSource):
        return put_values(state, request, source.values)
    if isinstance(source, RecipeSource):
        return put_values(state, request, of_source(state.recipes, source).values)
    if not source.arm:
        raise BrokerError("malformed", f"params.from.arm: the arm is needed, {FLEET} is none. {NOTHING_CHANGED}")
    return RecipeDraft(source)


def put_values(state: ArmState, request: Request, values: Mapping[Slot, Message]) -> RecipePut:
    """PutRecipe of these values.

    Raises:
        BrokerError: malformed, out_of_limits, too_large, revision_conflict, no_room.
    """
    params, shelf = plain_params(request), state.recipes
    name = name_of(params)
    document = {"items": given_items(dict(values)), "models": _models(params)}
    note, body = _note(params), canonical(document)
    size = max(len(body), len(msgspec.json.encode(document)))
    if size > BODY_MOST:
        raise BrokerError(
            "too_large", f"params: {size} bytes of items and models, at most {BODY_MOST}. {NOTHING_CHANGED}"
        )
    _check_version(shelf, name, params)
    head = shelf.head(name)
    if head is not None and head.body == body:
        return RecipePut(head, unchanged=True)
    if head is None and len(shelf.names) >= NAMES_MOST:
        raise BrokerError("no_room", f"there are {NAMES_MOST} recipes, the most that are kept. {NOTHING_CHANGED}")
    if shelf.size + len(body) > ALL_MOST:
        text = f"the recipes have {shelf.size} bytes in all, at most {ALL_MOST}: delete some"
        raise BrokerError("no_room", f"{text}. {NOTHING_CHANGED}")
    version = shelf.next_version(name)
    return RecipePut(Recipe(name, version, body, digest_of(document), note, request.author, request.at_us))


def get_recipe(state: ArmState, request: Request) -> Answer:
    """GetRecipe: one version, without a number the present one.

    Raises:
        BrokerError: unknown_field, malformed, out_of_limits, unknown_recipe.
    """
    params = plain_params(request)
    known_only(params, ("name", "version"))
    recipe = found_recipe(state.recipes, params, "name")
    document = {"name": recipe.name, "version": recipe.version, "items": given_items(dict(recipe.values))}
    return Answer(document | _about(recipe) | {"versions": state.recipes.versions(recipe.name)})


def list_recipes(state: ArmState, request: Request) -> Answer:
    """ListRecipes: the present versions in order of name; a page ends where it would be too long.

    Raises:
        BrokerError: unknown_field, malformed, out_of_limits.
    """
    params, shelf = plain_params(request), state.recipes
    known_only(params, ("prefix", "after", "limit"))
    prefix, after = text(params, "prefix"), text(params, "after")
    limit = integer(params, "limit", PAGE, PAGE_MOST, 1)
    heads = [head for head in shelf.heads if head.name > after and head.name.startswith(prefix)]
    entries: list[dict[str, Any]] = []
    size = 0
    for head in heads[:limit]:
        entry = _entry(shelf, head)
        size += len(msgspec.json.encode(entry)) + 1
        if entries and size > PAGE_BYTES:
            break
        entries.append(entry)
    return Answer({"recipes": entries, "more": len(entries) < len(heads)})


def delete_recipe(state: ArmState, request: Request) -> RecipeDeletion:
    """DeleteRecipe: no longer listed nor applied.

    Raises:
        BrokerError: unknown_field, malformed, out_of_limits, revision_conflict, unknown_recipe.
    """
    params, shelf = plain_params(request), state.recipes
    known_only(params, ("name", "if_version"))
    name = name_of(params)
    _check_version(shelf, name, params)
    return RecipeDeletion(found_recipe(shelf, {"name": name}, "name"))


def name_of(params: Params, key: str = "name") -> str:
    """The name of a recipe among params.

    Raises:
        BrokerError: malformed.
    """
    name = text(params, key)
    if not _NAME.match(name):
        form = "1 to 63 letters, digits, '.', '_' and '-', the first a letter or digit"
        raise BrokerError("malformed", f"params.{key}: {name[:64]!r} is no name of a recipe: {form}. {NOTHING_CHANGED}")
    return name


def found_recipe(shelf: Shelf, params: Params, key: str, *, listed: bool = False) -> Recipe:
    """The recipe that params name by `key` and perhaps `version`; with `listed` one that can be applied.

    Raises:
        BrokerError: malformed, out_of_limits, unknown_recipe.
    """
    name = name_of(params, key)
    version = integer(params, "version", 0, _HIGHEST, 1) if "version" in params else None
    recipe = shelf.find(name, version)
    if recipe is not None and (recipe.listed or not listed):
        return recipe
    known = shelf.versions(name)
    if version is not None and known:
        there = f"{known[0]} to {known[-1]}" if len(known) > 1 else str(known[0])
        why = "can only be read: it was deleted, or is beyond the last ones" if recipe else f"is not there: {there} are"
        raise BrokerError("unknown_recipe", f"recipe {name}: version {version} {why}. {NOTHING_CHANGED}")
    hint = did_you_mean(name, shelf.names) or "."
    raise BrokerError("unknown_recipe", f"no recipe {name}{hint} {NOTHING_CHANGED}")


def _check_version(shelf: Shelf, name: str, params: Params) -> None:
    """Refuse a change of another version than the one that the sender knows (0: of none)."""
    if "if_version" not in params:
        return
    wanted, head = integer(params, "if_version", 0, _HIGHEST), shelf.head(name)
    present = head.version if head is not None else 0
    if wanted != present:
        there = f"{name} is at version {present}" if present else f"there is no recipe {name}"
        raise BrokerError("revision_conflict", f"params.if_version: {wanted}, {there}. {NOTHING_CHANGED}")


def of_source(shelf: Shelf, source: RecipeSource) -> Recipe:
    """The recipe that a source names.

    Raises:
        BrokerError: malformed, unknown_recipe.
    """
    named: dict[str, object] = {"recipe": source.name}
    return found_recipe(shelf, named | ({"version": source.version} if source.version else {}), "recipe")


def _source(params: Params) -> Source:
    """Where the values of a new version come from; of an arm what is desired without overrides, unless told."""
    if "from" in params:
        return read_source(params["from"], "params.from", View.GROUND)
    return LiteralSource(read_items(params["items"], "params.items"))


def _models(params: Params) -> list[str]:
    models = params.get("models", [])
    if not isinstance(models, list) or not all(
        isinstance(one, str) and 0 < len(one) <= MODEL_LONGEST for one in models
    ):
        need = f"a list of texts of 1 to {MODEL_LONGEST} characters is needed"
        raise BrokerError("malformed", f"params.models: {need}, got {quoted(models)}. {NOTHING_CHANGED}")
    if len(models) > MODELS_MOST or len(set(models)) != len(models):
        raise BrokerError("malformed", f"params.models: at most {MODELS_MOST}, each once. {NOTHING_CHANGED}")
    return models


def _note(params: Params) -> str:
    note = text(params, "note")
    if len(note) > NOTE_MOST:
        what = f"params.note: {len(note)} characters > {NOTE_MOST}. {NOTHING_CHANGED}"
        raise BrokerError("out_of_limits", what, name="VALUE_IS_ABOVE_MAXIMUM")
    return note


def _entry(shelf: Shelf, recipe: Recipe) -> dict[str, Any]:
    return {"name": recipe.name, "version": recipe.version, **_about(recipe), "arms": shelf.users(recipe)}


def _about(recipe: Recipe) -> dict[str, Any]:
    by = recipe.by
    return {
        "models": list(recipe.models),
        "note": recipe.note,
        "digest": recipe.digest,
        "by": {"user": by.user, "connection": by.connection, "proven": by.proven},
        "at": format_time(recipe.at_us),
    }
