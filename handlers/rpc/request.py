"""A request as the handlers see it: decoded, its sender known."""

import msgspec

from schema.envelope import Author, RequestEnvelope
from schema.messages import Message

PROVEN = "server-acl"
"""The identity of whom the MQTT server proves."""


class Request(msgspec.Struct, frozen=True, gc=False):
    """One request; `params` is the message of its method, or a plain mapping for methods without one."""

    user: str
    conn: str
    arm: str
    method: str
    envelope: RequestEnvelope
    params: Message | dict[str, object]
    id: str
    """The id of the envelope, or the Correlation Data that serves as one."""
    at_us: int
    codec: str
    size: int
    identity: str
    trace: str = ""
    """Its `traceparent`."""
    roles: tuple[str, ...] = ()
    """The roles that the policy gives to its sender, of a request that asks for them."""
    approved_by: str = ""
    """The second person that approved it, if one did."""

    @property
    def author(self) -> Author:
        """Who asks, and whether the MQTT server proves it."""
        return Author(self.user, self.conn, self.identity == PROVEN)

    @property
    def request_id(self) -> str:
        """`<user>/<conn>/<id>`: how events name the request."""
        return f"{self.user}/{self.conn}/{self.id}"
