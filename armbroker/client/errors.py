"""What the Python client raises."""

from armbroker.client.documents import ErrorDocument, ReplyDocument


class ClientError(Exception):
    """Root of everything the client raises on purpose."""


class NoServerError(ClientError):
    """No usable connection to the MQTT server: unreachable, refused, or taken over by another client of this name."""


class NoReplyError(ClientError):
    """The timeout is over without a reply: what became of the request is unknown.

    Attributes:
        id: the request's id; the same call with this id later tells its outcome (30 days).
        sent: how often the request was handed to the MQTT server; 0 means that it was never sent.
    """

    def __init__(self, arm: str, method: str, request_id: str, timeout: float, sent: int) -> None:
        if sent:
            unknown = f"whether it was received, stored or applied is unknown; ask again with id {request_id!r}"
        else:
            unknown = "it was never sent, for want of a connection to the MQTT server"
        super().__init__(f"{method} to {arm}: no reply within {timeout:g} s: {unknown}")
        self.id = request_id
        self.sent = sent


class NotDoneError(ClientError):
    """The service answered `ok: false`.

    Attributes:
        reply: the whole reply.
        error: its error document.
        kind: the error's kind, the protocol's name of the cause.
    """

    def __init__(self, reply: ReplyDocument) -> None:
        self.reply = reply
        self.error: ErrorDocument = reply["error"]
        self.kind = self.error["kind"]
        super().__init__(f"{reply['method']} to {reply['arm']}: {self.kind}: {self.error['message']}")


class RefusedError(NotDoneError):
    """Refused: nothing came of the request."""


class OutcomeUnknownError(NotDoneError):
    """Stored and sent, but the arm gave no answer; an event, or the same call with the same id, tells the end."""
