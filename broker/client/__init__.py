"""The Python client of armbroker: `ArmClient`, what it returns and what it raises."""

from broker.client.client import ArmClient
from broker.client.documents import ErrorDocument, ReplyDocument, RequestOptions, ViolationDocument, WarningDocument
from broker.client.errors import (
    ClientError,
    NoReplyError,
    NoServerError,
    NotDoneError,
    OutcomeUnknownError,
    RefusedError,
)
from broker.client.ids import counted_ids, random_ids
from broker.client.monitor import Resynced, Watched, WatchedDocument, WatchedEvent
from broker.client.services import ServiceSeen

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
