"""What the service says of itself, and what is retained of it and of others."""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from armbroker.doctor.findings import Finding, failed, passed, unchecked
from armbroker.doctor.links import PATIENCE_S, Who, connected, taken, token, until
from broker.link.mqtt_link import InboundMessage, LinkError
from broker.presence.document import HEARTBEAT_S, ONLINE, SILENT_S, SvcDocument, read_document, silent_for_s
from broker.settings import Groups, Settings
from broker.topics import Topics
from schema.codecs.times import parse_time

LISTEN_S = 1.25 * HEARTBEAT_S
"""Every service that lives is heard within this."""
CLOCK_S = 2.0
"""Computers may differ by so much."""
RETAINED_S = 30.0
SHOWN = 5

Now = Callable[[], int]


class Heard(NamedTuple):
    """One document of a service: whether it came while we listened, and how far its clock is ahead of ours (s)."""

    instance: str
    document: SvcDocument
    live: bool
    ahead_s: float


async def listen(who: Who, topics: Topics, now_us: Now, within_s: float = LISTEN_S) -> list[Heard]:
    """The last document of each start of each service."""
    found: dict[str, Heard] = {}

    def see(message: InboundMessage) -> None:
        topic, document = topics.parse_public(message.topic), read_document(message.payload)
        if topic is None or topic.family != "svc" or document is None:
            return
        ahead_s = 0.0 if message.retain else (_time(document.seen_at, now_us()) - now_us()) / 1e6
        heard = Heard(topic.arm, document, not message.retain, ahead_s)
        key = f"{topic.arm} {document.start}"
        if heard.live or key not in found:
            found[key] = heard

    async with connected(who, token(), [topics.service("+")], retained=True) as link:
        await until(link, lambda _: False, see, within_s)
    return list(found.values())


def _time(text: str, default_us: int) -> int:
    try:
        return parse_time(text)
    except ValueError:
        return default_us


def judge(heard: list[Heard], instance: str) -> list[Finding]:
    """What the documents tell of the service, of others, and of the clocks."""
    return [_service(heard, instance), _second(heard, instance), _clock(heard, instance)]


def _service(heard: list[Heard], instance: str) -> Finding:
    own = [each for each in heard if each.instance == instance]
    if not own:
        return failed("service", f"{instance}: no such service, or the service's user may not read it")
    online = [each for each in own if each.live and each.document.state == ONLINE]
    if online:
        document = online[0].document
        return passed("service", f"{instance}: online since {document.since}, version {document.version}")
    last = own[-1].document
    silent = f"not heard for {LISTEN_S:g} s, last seen {last.seen_at or '-'}"
    return failed("service", f"{instance}: says {last.state}, {silent}")


def _second(heard: list[Heard], instance: str) -> Finding:
    live = {each.document.start or each.instance: each for each in heard if each.live and each.document.live}
    if len(live) > 1:
        names = ", ".join(f"{each.instance} ({start})" for start, each in sorted(live.items()))
        return failed("second-service", f"{len(live)} services live: {names}")
    if not live:
        return unchecked("second-service", "no service was heard")
    [other] = live.values()
    if other.instance != instance:
        return failed("second-service", f"{other.instance} serves this root, not {instance}")
    return passed("second-service", f"{instance} alone was heard in {LISTEN_S:g} s")


def _clock(heard: list[Heard], instance: str) -> Finding:
    own = [each for each in heard if each.live and each.instance == instance]
    if not own:
        return unchecked("clock", "no service was heard")
    ahead_s = min((each.ahead_s for each in own), key=abs)
    text = f"the service's clock is {abs(ahead_s):.2f} s {'ahead of' if ahead_s > 0 else 'behind'} this computer's"
    return passed("clock", text) if abs(ahead_s) <= CLOCK_S else failed("clock", text)


async def retained_ghosts(who: Who, topics: Topics, settings: Settings, now_us: Now) -> Finding:
    """What is retained of arms that the settings do not have, of services that are gone, and requests."""
    arms, ghosts = {arm.id for arm in settings.arm} | _groups(settings), dict[str, str]()

    def see(message: InboundMessage) -> None:
        if message.retain and message.payload and (why := _ghost(topics, message, arms, now_us())):
            ghosts[message.topic] = why

    mark = topics.device(f"@{token()}", "cmd")
    filters = (topics.service("+"), topics.state("+", "+"), topics.meta("factsheet/+"), topics.request_filter, mark)
    try:
        async with connected(who, token(), filters, retained=True) as link:
            marked = asyncio.ensure_future(taken(link, mark, b"{}"))
            whole = await until(link, lambda message: message.topic == mark, see, RETAINED_S)
            await marked
    except LinkError as error:
        return unchecked("retained-ghosts", str(error))
    if ghosts:
        shown = "; ".join(f"{topic}: {why}" for topic, why in sorted(ghosts.items())[:SHOWN])
        more = f"; {len(ghosts) - SHOWN} more" if len(ghosts) > SHOWN else ""
        return failed("retained-ghosts", shown + more)
    if not whole:
        return unchecked("retained-ghosts", f"not all of it came within {RETAINED_S:g} s")
    return passed("retained-ghosts", "all that is retained belongs to the arms of the settings")


def _groups(settings: Settings) -> set[str]:
    """What stands in the place of an arm in the topics of groups."""
    return {group.address for group in Groups(settings).by_name.values()}


def _ghost(topics: Topics, message: InboundMessage, arms: set[str], now_us: int) -> str:
    """Why a retained message should not be there; empty if it should."""
    topic = topics.parse_public(message.topic)
    if topic is None:
        if topics.parse_request(message.topic) is not None:
            return "a retained request, which is never carried out"
        arm = message.topic.rpartition("/")[2]
        return "" if arm in arms else "no such arm in the settings"
    if topic.family == "svc":
        document = read_document(message.payload)
        gone = document is None or (document.live and silent_for_s(document, now_us) > SILENT_S)
        return "says that it is there, and nobody stands behind it" if gone else ""
    return "" if topic.arm in arms else "no such arm in the settings"


async def round_trip(who: Who, topics: Topics, conn: str, settings: Settings) -> Finding:
    """Whether a user's question is answered, and how fast; it asks an arm who the user is."""
    arm = next((arm.id for arm in settings.arm), "")
    if not arm:
        return unchecked("round-trip", "the settings have no arm to ask")
    leaf = token()
    reply, got = topics.reply(who.user, conn, leaf), list[bytes]()

    def is_reply(message: InboundMessage) -> bool:
        if message.topic == reply:
            got.append(message.payload)
        return bool(got)

    async with connected(who, conn, [topics.reply(who.user, conn, "+")]) as link:
        began_s = time.monotonic()
        let = await taken(link, topics.request(who.user, conn, arm, "WhoAmI"), msgspec.json.encode({"id": leaf}))
        if not let:
            return failed("round-trip", f"user {who.user} may not send requests")
        await until(link, is_reply, lambda _: None, PATIENCE_S)
    if not got:
        return failed("round-trip", f"user {who.user} got no reply within {PATIENCE_S:g} s")
    took_ms = (time.monotonic() - began_s) * 1000
    return passed("round-trip", f"user {who.user} was answered in {took_ms:.0f} ms")
