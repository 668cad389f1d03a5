"""Which recipe an arm had last, and what of it is no longer so."""

from typing import Any

from handlers.compare.comparison import Side, compare
from handlers.state.arm_state import ArmState
from schema.codecs.times import format_time
from schema.errors import BrokerError


def drift_of(state: ArmState) -> list[str]:
    """The paths of the last recipe whose values the arm does not report; none where nothing is known of it."""
    recipe = None if state.applied is None else state.recipes.find(*state.applied.key)
    if recipe is None:
        return []
    try:
        values = recipe.values
    except BrokerError:  # a recipe of another version of the service, with items that this one has not
        return []
    return compare(Side(state.reported), Side(values, partial=True), None, state.resolution_rad).paths


def recipe_document(state: ArmState) -> dict[str, Any] | None:
    """What `config` says of the recipe that was applied last; None where none was."""
    applied = state.applied
    if applied is None:
        return None
    by = applied.by
    return {
        "name": applied.name,
        "version": applied.version,
        "digest": applied.digest,
        "rev": applied.rev,
        "at": format_time(applied.at_us),
        "by": {"user": by.user, "connection": by.connection, "proven": by.proven},
        "drift": drift_of(state),
    }
