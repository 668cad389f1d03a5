"""The user property `traceparent`, by which what belongs to one request is found in all programs it passes (W3C)."""

import re

NAME = "traceparent"
_FORM = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\Z")
LENGTH = 55


def traceparent(raw: bytes | None) -> str:
    """The value as it came; empty where there is none, or none that can be one."""
    if raw is None or len(raw) != LENGTH or _FORM.match(raw) is None:
        return ""
    return raw.decode()
