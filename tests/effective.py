"""Reads a document of effective limits as a client does."""

from typing import Any


def number_in(document: dict[str, Any], quantity: str, joint: str | None, mode: str) -> dict[str, Any] | None:
    """A number of a mode (`unknown_mode`: the tightest of all) with where it comes from; None where nothing limits."""
    row = document["unknown_mode"] if mode == "unknown_mode" else document["modes"].get(mode, {})
    numbers = row.get(quantity, document["other_modes"].get(quantity))
    if numbers is None:
        return None
    value, come, unit = numbers.get("value"), numbers["from"], document["units"][quantity]
    if joint is not None:
        at = document["joints"].index(joint)
        value, come, unit = numbers["values"][at], come[at], unit[at]
    return None if value is None else {"value": value, "unit": unit, **document["sources"][come]}
