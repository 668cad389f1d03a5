"""What an ordinary user may do at the MQTT server that the rules should not let it.

Everything is tried on topics that no client and no arm has; `who` is the ordinary user, `service` the service's own.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterable

from armbroker.doctor.findings import Finding, failed, passed, unchecked
from armbroker.doctor.links import PATIENCE_S, Who, connected, taken, token, until
from broker.link.mqtt_link import InboundMessage, LinkDownError, LinkError, LinkRefusedError
from broker.topics import Topics

_SECRET = re.compile(r"[0-9a-f]{16,}\Z")
_BY_ITSELF = "_"
"""Stands where an arm does, and can be none."""


class Access:
    """The checks of one ordinary user."""

    def __init__(self, topics: Topics, who: Who, service: Who, conn: str) -> None:
        self._topics, self._who, self._service = topics, who, service
        self._conn = conn
        """The client id of the ordinary user."""

    async def spoofed_user(self) -> Finding:
        """Whether it may ask under another name, or client id; the service's account looks what comes."""
        topics, mark, other = self._topics, token(), token()
        tried = {
            f"under the name {other}": topics.request(other, self._conn, _BY_ITSELF, mark),
            f"under the client id {other}": topics.request(self._who.user, other, _BY_ITSELF, mark),
        }
        seen: set[str] = set()
        watched = [topics.request("+", "+", _BY_ITSELF, mark)]
        async with connected(self._service, token(), watched) as observer:
            async with connected(self._who, self._conn, [self._own_replies]) as link:
                told = {how: await taken(link, topic) for how, topic in tried.items()}
            end = topics.request(self._service.user, token(), _BY_ITSELF, mark)
            if await taken(observer, end):
                await until(observer, lambda got: got.topic == end, lambda got: seen.add(got.topic), PATIENCE_S)
        through = [how for how, topic in tried.items() if topic in seen or told[how]]
        user = self._who.user
        if through:
            return failed("spoofed-user", f"user {user} publishes requests {' and '.join(through)}")
        return passed("spoofed-user", f"user {user} publishes requests under its own name and client id alone")

    async def service_topics(self) -> Finding:
        """Whether it may publish what only the service, or an arm, does."""
        topics, name = self._topics, f"@{token()}"
        tried = (
            topics.state(name, "config"), topics.event(name, "mode"), topics.meta(name), topics.service(name),
            topics.reply(name, name, _BY_ITSELF), topics.notice(name, name, 1),
            topics.device(name, "birth"), topics.device(name, "ack"), topics.device(name, "cmd"),
        )  # fmt: skip
        async with connected(self._who, self._conn, [self._own_replies]) as link:
            through = [topic.replace(name, "+") for topic in tried if await taken(link, topic)]
        if through:
            return failed("service-topics", f"user {self._who.user} publishes on {', '.join(sorted(set(through)))}")
        return passed("service-topics", f"user {self._who.user} publishes nothing of the service or an arm")

    async def foreign_replies(self) -> Finding:
        """Whether replies and notices of others reach it."""
        topics, other = self._topics, token()
        probes = {topics.reply(other, other, _BY_ITSELF), topics.notice(other, other, 1)}
        filters = (
            topics.reply("+", "+", "+"), topics.notice("+", "+", "+"), topics.reply(other, other, _BY_ITSELF),
            topics.notice(other, other, 1),
        )  # fmt: skip
        return await self._reading("foreign-replies", probes, filters, "replies and notices of others")

    async def wildcard_reader(self) -> Finding:
        """Whether a wildcard brings it requests of others, or what arms are told."""
        topics, mark = self._topics, token()
        requests = topics.request(self._service.user, mark, _BY_ITSELF, mark)
        probes = {requests, topics.device(f"@{mark}", "cmd")}
        filters = ("#", "+/#", topics.request_filter, *topics.device_filters, topics.device("+", "cmd"))
        return await self._reading("wildcard-reader", probes, filters, "requests of others, or commands for arms", mark)

    async def client_ids(self, client_id: str) -> Finding:
        """Whether it takes a connection of the service's user, by its client id; the service has `client_id`."""
        shared, lost = token(), asyncio.Event()
        async with connected(self._service, shared, [self._topics.service("+")]) as victim:
            victim.on_session(lambda _: None, lost.set)
            with contextlib.suppress(LinkError):
                async with connected(self._who, shared, [self._own_replies]):
                    await taken(victim, self._topics.device(f"@{shared}", "cmd"))
        if not lost.is_set():
            return passed("client-ids", f"user {self._who.user} takes no connection of user {self._service.user}")
        if not client_id or _SECRET.search(client_id):
            return passed("client-ids", "not bound to users; that of the service is a secret")
        return failed("client-ids", f"not bound to users, and the service's can be guessed: {client_id!r}")

    @property
    def _own_replies(self) -> str:
        return self._topics.reply(self._who.user, self._conn, "+")

    async def _reading(
        self, check: str, probes: set[str], filters: Iterable[str], what: str, publisher: str = ""
    ) -> Finding:
        """Whether a subscription brings any of the probes, which the service's account publishes under `publisher`."""
        seen: set[str] = set()
        barrier = self._topics.reply(self._who.user, self._conn, token())
        async with connected(self._service, publisher or token(), [self._topics.service("+")]) as service:
            for topic_filter in filters:
                try:
                    async with connected(self._who, self._conn, [topic_filter, self._own_replies]) as link:
                        told = [topic for topic in (*probes, barrier) if not await taken(service, topic)]
                        if told:
                            return unchecked(check, f"the service's user may not publish {', '.join(told)}")
                        if not await until(link, _is(barrier), lambda got: seen.add(got.topic), PATIENCE_S):
                            return failed(check, f"user {self._who.user} does not get its own replies")
                except LinkRefusedError:
                    continue
        through = sorted(probes & seen)
        if through:
            return failed(check, f"user {self._who.user} reads {what}: {', '.join(through)}")
        return passed(check, f"user {self._who.user} does not read {what}")


def _is(topic: str) -> Callable[[InboundMessage], bool]:
    return lambda message: message.topic == topic


async def usable_conn(topics: Topics, who: Who) -> str:
    """A client id under which the user may publish: a random one, or its name where the server binds ids to users."""
    for conn in (token(), who.user):
        async with connected(who, conn, [topics.reply(who.user, conn, "+")]) as link:
            with contextlib.suppress(LinkDownError):
                if await taken(link, topics.request(who.user, conn, _BY_ITSELF, conn)):
                    return conn
    return ""
