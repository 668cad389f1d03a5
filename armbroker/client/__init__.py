"""The Python client of armbroker: `ArmClient`, what it returns and what it raises."""

from armbroker.client.client import ArmClient
from armbroker.client.documents import ErrorDocument, ReplyDocument, RequestOptions, ViolationDocument, WarningDocument
from armbroker.client.errors import (
    ClientError,
    NoReplyError,
    NoServerError,
    NotDoneError,
    OutcomeUnknownError,
    RefusedError,
)
from armbroker.client.ids import counted_ids, random_ids
from armbroker.client.monitor import Resynced, Watched, WatchedDocument, WatchedEvent
from armbroker.client.services import ServiceSeen

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
