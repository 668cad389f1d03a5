"""FindArms: the arms of a group for which everything holds."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from handlers.fleet.facts import FACTS, TOLD, Seen, recipe
from handlers.fleet.values import holds, read_condition
from handlers.rpc.fleet_queries import FindQuery, Shown
from handlers.rpc.plain_params import integer, known_only, listed, plain_params, quoted, text
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.arms import FLEET, Activity, Authority
from schema.codecs.items_form import read_path
from schema.codecs.plain import bare
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.items import ITEMS, slot_name

FOUND_LIMIT, FOUND_MOST = 100, 500
"""Arms of one answer: unless told, and at most."""
SHOWN_MOST, VALUES_MOST, NAMED_MOST = 16, 8, 1_000
"""Paths that are shown, conditions on values, and ids or groups of a list at most."""
EVERYBODY = FLEET[1:]
"""The group that every arm is in, though no settings name it."""
PRESENCES = ("online", "offline", "held", "unknown")
ReadPart = Callable[[object, str], Any]
"""Reads one part of `where` at a path; raises BrokerError."""


def _text(given: object, path: str) -> str:
    if not isinstance(given, str):
        raise BrokerError("malformed", f"{path}: a text is needed, got {quoted(given)}")
    return given


def _flag(given: object, path: str) -> bool:
    if not isinstance(given, bool):
        raise BrokerError("malformed", f"{path}: true or false is needed, got {quoted(given)}")
    return given


def _one_of(words: Iterable[str], given: object, path: str) -> str:
    words = tuple(words)
    if (word := _text(given, path)) not in words:
        raise BrokerError("unknown_enum", f"{path}: {word[:60]!r} is none of {listed(word, words)}")
    return word


def _names(given: object, path: str) -> frozenset[str]:
    if not isinstance(given, list) or len(given) > NAMED_MOST or not all(isinstance(one, str) for one in given):
        text = f"{path}: a list of at most {NAMED_MOST:,} texts is needed, got {quoted(given)}"
        raise BrokerError("malformed", text)
    return frozenset(given)


CONDITIONS: Mapping[str, ReadPart] = {
    "model": _text,
    "adapter": _text,
    "presence": partial(_one_of, PRESENCES),
    "activity": partial(_one_of, Activity),
    "authority": partial(_one_of, Authority),
    "mode": partial(_one_of, ControlMode.__members__),
    "held_by": _text,
    "ready": _flag,
    "pending": _flag,
    "override": _flag,
    "differs": _flag,
    "recipe_drift": _flag,
}
"""How the condition on each fact is read."""
_LISTS = ("arms", "groups")


def find_arms(_state: ArmState, request: Request) -> FindQuery:
    """FindArms: `where`, all of it; `show` values of those found; `after` an id, `limit`.

    Raises:
        BrokerError: unknown_field, malformed, unknown_enum, out_of_limits.
    """
    params = plain_params(request)
    known_only(params, ("where", "show", "after", "limit"))
    where = params.get("where", {})
    if not isinstance(where, dict):
        raise BrokerError("malformed", f"params.where: an object is needed, got {quoted(where)}")
    known_only(where, (*_LISTS, "recipe", *CONDITIONS, "value"), "params.where")
    conditions = _listed(where, "value", VALUES_MOST, "params.where")
    arms, groups = (_names(where[key], f"params.where.{key}") if key in where else None for key in _LISTS)
    return FindQuery(
        arms=arms,
        groups=groups,
        recipe=text(where, "recipe", path="params.where"),
        facts=tuple((name, CONDITIONS[name](where[name], f"params.where.{name}")) for name in FACTS if name in where),
        values=tuple(read_condition(one, f"params.where.value[{at}]") for at, one in enumerate(conditions)),
        show=tuple(_shown(one, f"params.show[{at}]") for at, one in enumerate(_listed(params, "show", SHOWN_MOST))),
        after=text(params, "after"),
        limit=integer(params, "limit", FOUND_LIMIT, FOUND_MOST, lowest=1),
    )


def _listed(params: Mapping[str, Any], key: str, most: int, path: str = "params") -> list[object]:
    given = params.get(key, [])
    if not isinstance(given, list) or len(given) > most:
        raise BrokerError("malformed", f"{path}.{key}: a list of at most {most} is needed, got {quoted(given)}")
    return given


def _shown(given: object, path: str) -> Shown:
    slots = read_path(given, path)
    return Shown(str(given), slots, by_mode=len(slots) > 1)


def matches(query: FindQuery, seen: Seen) -> bool:
    """Whether everything holds of an arm."""
    state = seen.state
    if query.arms is not None and state.arm not in query.arms:
        return False
    if query.groups is not None and query.groups.isdisjoint((EVERYBODY, *state.groups)):
        return False
    if query.recipe and query.recipe != recipe(seen) and (state.applied is None or query.recipe != state.applied.name):
        return False
    return all(FACTS[name](seen) == wanted for name, wanted in query.facts) and all(
        holds(condition, state) for condition in query.values
    )


def row(query: FindQuery, seen: Seen) -> dict[str, Any]:
    """What is told of an arm that was found."""
    state = seen.state
    told: dict[str, Any] = {"arm": state.arm, **{name: FACTS[name](seen) for name in TOLD}}
    told["rev"] = state.rev
    if (applied := recipe(seen)) is not None:
        told["recipe"] = applied
    if query.show:
        values = ((one.path, _value(state, one)) for one in query.show)
        told["values"] = {path: value for path, value in values if value is not None}
    return told


def _value(state: ArmState, shown: Shown) -> Any:
    """The value that the arm reports at a path, by mode where it stands for all of them; None: it was never read."""
    there = {slot: state.reported[slot] for slot in shown.slots if slot in state.reported}
    values = {slot: bare(value, ITEMS[slot[0]].field) for slot, value in there.items()}
    if shown.by_mode:
        return {slot_name(slot): value for slot, value in values.items()} or None
    return next(iter(values.values()), None)
