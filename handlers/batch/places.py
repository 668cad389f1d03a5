"""Where the value of a slot stands in a request: `items.<item>[.<MODE>]`, and what is below it."""

import msgspec

from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Slot
from schema.errors import BrokerError
from schema.items import ITEMS, slot_name


def place_of(place: str, slot: Slot) -> str:
    """Where the value of a slot stands."""
    name = slot_name(slot)
    return f"{place}.{slot[0]}.{name}" if name else f"{place}.{slot[0]}"


def below(place: str, slot: Slot, path: str) -> str:
    """A path of the Set of a slot as one of a document of several; that of an item with modes is the value itself."""
    own, (key, _) = place_of(place, slot), slot
    field = ITEMS[key].field
    if field and path.startswith(field):
        return own + path.removeprefix(field)
    return own if path in ("", key) else f"{own}.{path.removeprefix(f'{key}.')}"


def placed(place: str, slot: Slot, error: BrokerError) -> BrokerError:
    """The refusal of a value of a slot, as one of several."""
    violations = tuple(msgspec.structs.replace(one, path=below(place, slot, one.path)) for one in error.violations)
    message = error.message
    first = error.violations[0].path if error.violations else ""
    if first and message.startswith(first):
        message = violations[0].path + message.removeprefix(first)
    else:
        message = f"{place_of(place, slot)}: {message}"
    if not message.endswith(NOTHING_CHANGED):
        message = f"{message.removesuffix('.')}. {NOTHING_CHANGED}"
    return BrokerError(error.kind, message, violations, name=error.name)
