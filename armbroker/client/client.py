"""The Python client: requests with a deadline, and what the arms do, as it happens."""

import asyncio
import contextlib
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from armbroker.client.address import parse_address
from armbroker.client.connection import Connection, Login
from armbroker.client.documents import CONTENT_TYPES, ReplyDocument, RequestOptions, decode_reply, encode
from armbroker.client.errors import ClientError, NoReplyError, NoServerError, OutcomeUnknownError, RefusedError
from armbroker.client.exchange import Exchange, Unanswered
from armbroker.client.ids import random_ids
from armbroker.client.messages import Incoming, Outgoing
from armbroker.client.monitor import Watched
from armbroker.client.services import ServiceSeen, judged
from armbroker.client.watch import Watch
from broker.presence.document import SvcDocument, read_document
from broker.tls import TlsFiles
from broker.topics import Topics, is_leaf, is_name
from schema.codecs.times import format_time

LOG = logging.getLogger(__name__)

FETCH_TIMEOUT_S = 15.0
"""For one page of events that a watch missed."""

TTL_MS, IDLE_TTL_MS = 300_000, 28_800_000
"""How long an accepted change may wait to begin, and one that waits until its arm is idle, unless told."""
ROLLOUT = "Rollout"
MODE_METHOD, MODE_LIFE_S = "SetControlMode", 2.0

_LEVEL = re.compile(r"[^/+#\0]+")
"""What can stand as one level of a topic; whether it is an arm or a method is for the service to say."""


class ArmClient:
    """Speaks to the service as one connection; an async context manager.

    Args:
        url: `mqtt://host[:port]` or `mqtts://host[:port]`.
        user: the MQTT user name.
        conn: the MQTT client id, fixed for this program: no two programs at once may use one.
        password: of the user.
        root: first levels of every topic.
        codec: `json` or `msgpack`, for requests and so for replies.
        ca_file: authorities for `mqtts`, instead of the system's; read again at each connection, as the next two.
        cert_file: a client certificate, for servers that ask for one.
        key_file: its key, where `cert_file` does not hold it.
        clock: seconds since 1970, for `issued_at`; None where this machine's clock may be wrong, then none is sent.
        ids: where ids come from; give `counted_ids(boot)` with a boot counter that you keep, if requests must be
            repeated after a restart of your program. Without: random for each run.

    Raises:
        ValueError: an argument cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        user: str,
        conn: str,
        password: str | None = None,
        root: str = "armbroker",
        codec: str = "json",
        ca_file: Path | None = None,
        cert_file: Path | None = None,
        key_file: Path | None = None,
        ids: Iterator[str] | None = None,
        clock: Callable[[], float] | None = time.time,
    ) -> None:
        _check_name("user", user)
        _check_name("conn", conn)
        if codec not in CONTENT_TYPES:
            raise ValueError(f"codec {codec!r}: {' or '.join(CONTENT_TYPES)} is wanted")
        parse_address(url)
        self._login = Login(url, user, password, conn, TlsFiles(ca_file, cert_file, key_file))
        self._topics = Topics(root)
        self._user, self._conn = user, conn
        self._codec = codec
        self._ids = random_ids() if ids is None else ids
        self._clock = clock
        self._run = secrets.token_bytes(8)
        self._calls = count(1)
        self._exchanges: dict[bytes, Exchange] = {}
        self._watches: set[Watch] = set()
        self._services: dict[str, SvcDocument] = {}
        self._connection: Connection | None = None

    async def __aenter__(self) -> Self:
        """Connect.

        Raises:
            NoServerError: no MQTT server there, or it refused us.
        """
        connection = Connection(self._login, self._receive, self._lose)
        await connection.subscribe(self._topics.reply(self._user, self._conn, "+"))
        await connection.open()
        self._connection = connection
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open_connection().close()

    async def call(
        self,
        arm: str,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float,  # noqa: ASYNC109 - mandatory: it bounds all attempts together, and its end has its own error
        id: str | None = None,  # noqa: A002 - the protocol's name of the field
        keep: bool = False,
        **options: Unpack[RequestOptions],
    ) -> ReplyDocument:
        """Send one request and return its reply, which has `ok: true`.

        Without a reply for a third of `timeout` (at most 12 s), after a lost connection, and after a refusal with
        `retry: same_id`, the same request is sent again with the same id: the service acts on it once. A copy not
        delivered by `timeout` (of a mode: within 2 s) is dropped; an accepted change has 5 minutes to begin.

        Args:
            arm: id of the arm.
            method: name of the RPC.
            params: its message; None is the empty one.
            timeout: seconds, for everything together.
            id: to repeat an earlier request; None takes a new one.
            keep: let it wait without end, at the MQTT server and for its arm.
            **options: further fields of the request.

        Raises:
            RefusedError: nothing came of it; after `retry: same_id` refusals, the last of them at the deadline.
            OutcomeUnknownError: the arm did not answer.
            NoReplyError: no reply in time; it says what is unknown.
            NoServerError: another client took our name, or the client is closed.
            ValueError, TypeError: an argument cannot be sent.
        """
        request_id = next(self._ids) if id is None else id
        life_s = 0.0 if keep else _limit(method, options, timeout)
        reply = await self._exchange(self._request(arm, method, request_id, params, options), life_s, timeout)
        if isinstance(reply, Unanswered):
            raise NoReplyError(arm, method, request_id, timeout, reply.sent) from reply.why
        return _done(reply)

    async def services(self, within_s: float = 1.0) -> list[ServiceSeen]:
        """The services of the root, as far as the MQTT server tells of them within so many seconds.

        Raises:
            NoServerError: the connection ended for good, or the MQTT server does not let us read.
        """
        connection, topic_filter = self._open_connection(), self._topics.service("+")
        self._services.clear()
        await connection.subscribe(topic_filter)
        try:
            await asyncio.sleep(within_s)
        finally:
            await connection.unsubscribe(topic_filter)
        return [judged(instance, document) for instance, document in sorted(self._services.items())]

    @property
    def connected(self) -> bool:
        """Whether the connection is up now."""
        return self._connection is not None and self._connection.up

    @contextlib.asynccontextmanager
    async def watch(self, arm: str | None = None, *, fetch: bool = True) -> AsyncIterator[AsyncIterator[Watched]]:
        """What an arm or a group (`@cell-4`; None: all) tells from now on, its present documents first.

        It is an async iterator. Each event comes once; what was missed is fetched, and where that cannot be (or `fetch`
        is False: nothing is asked of the service), a `Resynced` says so. It raises NoServerError when the connection
        has ended for good.

        Raises:
            NoServerError: the connection ended for good, or the MQTT server does not let us read.
            ValueError: `arm` cannot be an arm, nor a group.
        """
        if arm is not None:
            _check_name("arm", arm.removeprefix("@"))
        watch = Watch(self._open_connection(), self._topics, arm, self._fetch_events if fetch else _fetch_nothing)
        self._watches.add(watch)
        try:
            async with watch.subscribed():
                yield watch
        finally:
            self._watches.discard(watch)

    async def _exchange(
        self,
        message: Outgoing,
        life_s: float,
        timeout: float,  # noqa: ASYNC109 - as in call
    ) -> ReplyDocument | Unanswered:
        exchange = Exchange(self._open_connection(), message, life_s)
        self._exchanges[message.correlation] = exchange
        try:
            return await exchange.run(timeout)
        finally:
            del self._exchanges[message.correlation]

    async def _fetch_events(self, arm: str, after_seq: int) -> ReplyDocument:
        return await self.call(arm, "GetEvents", {"after_seq": after_seq}, timeout=FETCH_TIMEOUT_S)

    def _request(
        self, arm: str, method: str, request_id: str, params: dict[str, Any] | None, options: RequestOptions
    ) -> Outgoing:
        for name, level in (("arm", arm), ("method", method)):
            if not _LEVEL.fullmatch(level):
                raise ValueError(f"{name} {level!r}: one level of a topic is wanted")
        if options.get("issued_at") is None and self._clock is not None:
            options["issued_at"] = format_time(int(self._clock() * 1e6))
        if not is_leaf(request_id):
            raise ValueError(f"id {request_id!r}: 1 to 64 of A-Z a-z 0-9 _ - are wanted")
        fields = {"id": request_id, "params": params, **options}
        known = {name: value for name, value in fields.items() if value is not None}
        undated = {name: value for name, value in known.items() if name != "issued_at"}
        return Outgoing(
            topic=self._topics.request(self._user, self._conn, arm, method),
            payload=encode(known, self._codec),
            content_type=CONTENT_TYPES[self._codec],
            correlation=self._run + next(self._calls).to_bytes(8, "big"),
            response_topic=self._topics.reply(self._user, self._conn, request_id),
            undated=encode(undated, self._codec),
        )

    def _open_connection(self) -> Connection:
        if self._connection is None:
            raise NoServerError("the client is not connected: use it in `async with`")
        return self._connection

    def _receive(self, message: Incoming) -> None:
        source = self._topics.parse_public(message.topic)
        if source is not None:
            if source.family == "svc" and (document := read_document(message.payload)) is not None:
                self._services[source.arm] = document
            for watch in self._watches:
                watch.offer(source, message)
            return
        exchange = self._exchanges.get(message.correlation)
        if exchange is None:
            return  # the reply to a repetition that came after the first one's
        try:
            exchange.answer(decode_reply(message.payload, message.content_type))
        except ValueError as error:
            LOG.warning("unreadable reply on %s: %s", message.topic, error)

    def _lose(self) -> None:
        for exchange in self._exchanges.values():
            exchange.lose()
        for watch in self._watches:
            watch.lose()


async def _fetch_nothing(arm: str, after_seq: int) -> ReplyDocument:
    raise ClientError(f"of {arm} nothing after {after_seq} is asked for")


def _done(reply: ReplyDocument) -> ReplyDocument:
    """The reply, if it says ok; else it is raised."""
    if not reply["ok"]:
        raise (OutcomeUnknownError if reply["error"]["kind"] == "outcome_unknown" else RefusedError)(reply)
    return reply


def _limit(method: str, fields: RequestOptions, timeout: float) -> float:
    """Seconds that a copy of the request may take to be delivered; sets a `ttl_ms` if none is given."""
    ttl_ms = fields.get("ttl_ms")
    if ttl_ms is not None:
        return min(ttl_ms / 1000, timeout) if isinstance(ttl_ms, int) else timeout
    if method == MODE_METHOD:
        return MODE_LIFE_S  # which is the ttl as well, and needs no clocks that agree
    if method == ROLLOUT:  # it says itself how long a row may take
        return timeout
    fields["ttl_ms"] = IDLE_TTL_MS if fields.get("when") == "idle" else TTL_MS
    return timeout


def _check_name(what: str, text: str) -> None:
    if not is_name(text):
        raise ValueError(f"{what} {text!r}: 1 to 63 of A-Z a-z 0-9 . _ - are wanted, a letter or digit first")
