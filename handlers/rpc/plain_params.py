"""Params of the methods without a message: plain mappings, checked key by key."""

import json
from collections.abc import Iterable, Mapping

from handlers.rpc.request import Request
from schema.errors import BrokerError
from schema.messages import Message
from schema.nearest import did_you_mean

QUOTED = 60
"""So many characters of a wrong value are shown."""


def quoted(value: object) -> str:
    """The beginning of a wrong value, as JSON has it; texts in single quotes."""
    if isinstance(value, str):
        return repr(value[:QUOTED])
    return json.dumps(value, ensure_ascii=False, default=repr)[:QUOTED]


def plain_params(request: Request) -> Mapping[str, object]:
    """The params of a method without a message; absent ones are empty."""
    return {} if isinstance(request.params, Message) else request.params


def listed(name: str, known: Iterable[str]) -> str:
    """The names there are, in words, and the one that may have been meant."""
    names = tuple(known)
    return f"{', '.join(names)}{did_you_mean(name, names)}"


def known_only(params: Mapping[str, object], names: tuple[str, ...], path: str = "params") -> None:
    """Refuse a key that the method, or the document at a path, does not have (`unknown_field`)."""
    for key in params:
        if key not in names:
            known = f"known: {', '.join(names) or 'none'}{did_you_mean(key, names)}"
            raise BrokerError("unknown_field", f"{path}.{key[:60]!r}: no such field; {known}")


def integer(
    params: Mapping[str, object], key: str, default: int, highest: int, lowest: int = 0, path: str = "params"
) -> int:
    """An integer between two bounds, or the default where the key is absent.

    Raises:
        BrokerError: malformed for another type, out_of_limits beyond a bound.
    """
    if key not in params:
        return default
    value = params[key]
    if type(value) is not int:
        raise BrokerError("malformed", f"{path}.{key}: an integer is needed, got {quoted(value)}")
    if value > highest:
        text = f"{path}.{key}: {value} > {highest}, the most that is served"
        raise BrokerError("out_of_limits", text, name="VALUE_IS_ABOVE_MAXIMUM")
    if value < lowest:
        raise BrokerError("out_of_limits", f"{path}.{key}: {value} < {lowest}", name="VALUE_IS_BELOW_MINIMUM")
    return value


def flag(params: Mapping[str, object], key: str) -> bool:
    """A flag, false where the key is absent.

    Raises:
        BrokerError: malformed for another type.
    """
    value = params.get(key, False)
    if not isinstance(value, bool):
        raise BrokerError("malformed", f"params.{key}: true or false is needed, got {quoted(value)}")
    return value


def text(params: Mapping[str, object], key: str, default: str = "", path: str = "params") -> str:
    """A text, or the default where the key is absent.

    Raises:
        BrokerError: malformed for another type.
    """
    value = params.get(key, default)
    if not isinstance(value, str):
        raise BrokerError("malformed", f"{path}.{key}: a text is needed, got {quoted(value)}")
    return value
