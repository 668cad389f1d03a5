"""Paths of slots, `item` or `item/MODE`, as params name them: an item stands for all its slots."""

from collections.abc import Iterable, Mapping

from handlers.rpc.plain_params import listed
from schema.arms import Slot
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.items import ITEMS, slots, slots_of

PATHS_MOST = 256
"""The most paths of one list."""
MODE_ITEM = "control_mode"
CONFIG_SLOTS: tuple[Slot, ...] = tuple(slot for slot in slots() if slot[0] != MODE_ITEM)
"""The slots of a configuration, in the order of the table."""
_KEYS = tuple(key for key in ITEMS if key != MODE_ITEM)


def slots_named(params: Mapping[str, object], key: str = "items") -> frozenset[Slot] | None:
    """The slots of a list of paths among params; None where there is no list.

    Raises:
        BrokerError: malformed, out_of_limits for too many, unknown_enum, mode_without_limit, unsupported_option.
    """
    given = params.get(key)
    if given is None and key not in params:
        return None
    if not isinstance(given, list) or not given:
        raise BrokerError("malformed", f"params.{key}: a list of at least one path is needed, got {str(given)[:60]!r}")
    if len(given) > PATHS_MOST:
        text = f"params.{key}: {len(given)} paths > {PATHS_MOST}, the most that are taken"
        raise BrokerError("out_of_limits", text, name="VALUE_IS_ABOVE_MAXIMUM")
    return frozenset(slot for at, path in enumerate(given) for slot in slots_at(path, f"params.{key}[{at}]"))


def slots_at(path: object, where: str) -> tuple[Slot, ...]:
    """The slots of one path, found at `where`.

    Raises:
        BrokerError: malformed, unknown_enum, mode_without_limit, unsupported_option.
    """
    if not isinstance(path, str):
        raise BrokerError("malformed", f"{where}: a path is needed, item or item/MODE, got {str(path)[:60]!r}")
    key, slash, mode = path.partition("/")
    check_item(key, where)
    return (slot_at(key, mode, where),) if slash else slots_of(key)


def check_item(key: str, where: str) -> None:
    """Refuse what is no item of a configuration.

    Raises:
        BrokerError: unknown_enum; unsupported_option for the control mode, which is no part of one.
    """
    if key == MODE_ITEM:
        raise BrokerError("unsupported_option", f"{where}: the control mode is no part of a configuration")
    if key not in ITEMS:
        raise BrokerError("unknown_enum", f"{where}: {key[:60]!r} is no item; items: {listed(key, _KEYS)}")


def slot_at(key: str, mode: str, where: str) -> Slot:
    """The slot of an item and the name of a control mode.

    Raises:
        BrokerError: unknown_enum, mode_without_limit.
    """
    item = ITEMS[key]
    if not item.modes:
        raise BrokerError("unknown_enum", f"{where}: {key} has no slots of modes, {mode[:60]!r} is none of it")
    names = tuple(known.name for known in item.modes)
    if mode in names:
        return (key, int(ControlMode[mode]))
    if mode in ControlMode.__members__:
        text = f"{where}: {mode} takes no {key}; these do: {', '.join(names)}"
        raise BrokerError("mode_without_limit", text)
    raise BrokerError("unknown_enum", f"{where}: {mode[:60]!r} is no control mode; {key}: {listed(mode, names)}")


def in_order(chosen: Iterable[Slot]) -> list[Slot]:
    """Slots in the order of the table."""
    found = frozenset(chosen)
    return [slot for slot in CONFIG_SLOTS if slot in found]
