"""Ids for requests."""

import secrets
from collections.abc import Iterator
from itertools import count


def random_ids() -> Iterator[str]:
    """Ids of a program that keeps nothing: eight random hex digits for this run, then a counter from 1."""
    return counted_ids(secrets.token_hex(4))


def counted_ids(boot: int | str) -> Iterator[str]:
    """Ids of a program that keeps a boot counter: `7-000001`, `7-000002`, ... for boot 7.

    Raises:
        ValueError: `boot` leaves no room for a legal id.
    """
    text = str(boot)
    if not (text.replace("-", "").replace("_", "").isalnum() and text.isascii() and len(text) <= 40):  # noqa: PLR2004 - of 64
        raise ValueError(f"boot {text!r}: 1 to 40 of A-Z a-z 0-9 _ -")
    return (f"{text}-{number:06d}" for number in count(1))
