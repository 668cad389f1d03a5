"""ApplyRecipe: the values of a recipe as one change of an arm."""

import msgspec

from handlers.batch.decide import Asked, decide_batch
from handlers.compare.sources import read_slots
from handlers.methods.apply_config import reverses
from handlers.methods.recipes import found_recipe
from handlers.rpc.outcome import BatchProposal
from handlers.rpc.plain_params import flag, known_only, plain_params
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from handlers.state.recipes import Recipe
from handlers.state.refusals import NOTHING_CHANGED
from schema.errors import BrokerError


def apply_recipe(state: ArmState, request: Request, *, listed: bool = True) -> BatchProposal:
    """ApplyRecipe: a version of a recipe, the newest unless told, or as much of it as `items` names.

    `listed`: one that was taken off the list is not found.

    Raises:
        BrokerError: unknown_field, malformed, unknown_enum, out_of_limits, unknown_recipe, not_applicable; as
            `decide_batch`.
    """
    params = plain_params(request)
    known_only(params, ("recipe", "version", "items", "partial", "on_failure"))
    partial, reverse, slots = flag(params, "partial"), reverses(params), read_slots(params)
    recipe = found_recipe(state.recipes, params, "recipe", listed=listed)
    _check_model(state, recipe)
    values = {slot: value for slot, value in recipe.values.items() if slots is None or slot in slots}
    if not values:
        raise BrokerError("malformed", f"params.items: {recipe.label} has none of these. {NOTHING_CHANGED}")
    asked = Asked(values, partial=partial, reverse=reverse)
    decided = decide_batch(state, request.user, asked, request.envelope.if_rev)
    return msgspec.structs.replace(decided, recipe=recipe)


def _check_model(state: ArmState, recipe: Recipe) -> None:
    """Refuse a recipe for other models."""
    model = state.model if state.description is None else state.description.model
    if recipe.models and model not in recipe.models:
        text = f"recipe {recipe.label} is for {', '.join(recipe.models)}, {state.arm} is {model}. {NOTHING_CHANGED}"
        raise BrokerError("not_applicable", text)
