"""armbroker for programs: `ArmClient`, what it returns and what it raises (`docs/client.md`).

The names are loaded when they are first used, so that the command starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armbroker.client import (
        ArmClient,
        ClientError,
        ErrorDocument,
        NoReplyError,
        NoServerError,
        NotDoneError,
        OutcomeUnknownError,
        RefusedError,
        ReplyDocument,
        RequestOptions,
        Resynced,
        ServiceSeen,
        ViolationDocument,
        WarningDocument,
        Watched,
        WatchedDocument,
        WatchedEvent,
        counted_ids,
        random_ids,
    )

__all__ = [
    "ArmClient",
    "ClientError",
    "ErrorDocument",
    "NoReplyError",
    "NoServerError",
    "NotDoneError",
    "OutcomeUnknownError",
    "RefusedError",
    "ReplyDocument",
    "RequestOptions",
    "Resynced",
    "ServiceSeen",
    "ViolationDocument",
    "WarningDocument",
    "Watched",
    "WatchedDocument",
    "WatchedEvent",
    "counted_ids",
    "random_ids",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("armbroker.client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
