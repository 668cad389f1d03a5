"""Every topic of the service is built and parsed here."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")
_LEAF = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
ROOT_LEVELS = 5
_REQUEST_LEVELS = 4
_REMEMBERED = 16_384
"""So many topics are known without looking at their levels again."""
LONGEST_SHOWN = 64
"""Characters of an arm or method that are kept and shown; names are shorter."""


@lru_cache(maxsize=65_536)
def is_name(text: str) -> bool:
    """Whether a level is a user, connection or arm id."""
    return _NAME.match(text) is not None


def is_leaf(text: str) -> bool:
    """Whether a level can end a reply topic, and an id can be one."""
    return _LEAF.match(text) is not None


class RequestTopic(NamedTuple):
    """The levels of a request topic; `arm` and `method` as they came, but for what is too long for any name.

    `cut`: the arm or method may have been longer than it is here; no name is so long.
    """

    user: str
    conn: str
    arm: str
    method: str
    cut: bool = False


class PublicTopic(NamedTuple):
    """Where something for everybody stands: family `evt`, `state` or `svc`; arm (svc: the instance); levels below."""

    family: str
    arm: str
    below: str


class DeviceTopic(NamedTuple):
    """Where an arm that speaks MQTT says something: `leaf` is birth, death, ack or report."""

    arm: str
    leaf: str


class RetainedTopic(NamedTuple):
    """Where something of the service is retained: family `state`, `meta` or `svc`.

    `arm` is empty for what is of no arm, the instance for `svc`; `name` that of the document, `factsheet` for one.
    """

    family: str
    arm: str
    name: str


class Topics:
    """Topics below one root; `+` as a level builds a filter.

    Raises:
        ValueError: the root has not 1 to 5 levels of names.
    """

    def __init__(self, root: str) -> None:
        levels = root.split("/")
        if len(levels) > ROOT_LEVELS or not all(map(is_name, levels)):
            raise ValueError(
                f"root {root!r}: 1 to {ROOT_LEVELS} levels of letters, digits, '.', '_' and '-' are needed"
            )
        self._base = f"{root}/v1"
        self._requests = f"{self._base}/req/"
        self._replies = f"{self._base}/res/"
        self._devices = f"{self._base}/dev/"
        self.parse_request = lru_cache(maxsize=_REMEMBERED)(self._parse_request)
        """The levels of a request topic; None if their number, the user or the connection is bad."""
        self.is_reply_of = lru_cache(maxsize=_REMEMBERED)(self._is_reply_of)
        """Whether a Response Topic (first) is exactly `res/<user>/<x>/<leaf>` of a user (second)."""
        self.request_filter = f"{self._base}/req/#"
        self.device_filters = tuple(f"{self._devices}+/{leaf}" for leaf in ("death", "birth", "ack", "report"))

    def request(self, user: str, conn: str, arm: str, method: str) -> str:
        """Where a client's request goes."""
        return f"{self._requests}{user}/{conn}/{arm}/{method}"

    def parse_public(self, topic: str) -> PublicTopic | None:
        """The levels of a topic that everybody may read; None for every other."""
        if not topic.startswith(f"{self._base}/"):
            return None
        family, _, rest = topic[len(self._base) + 1 :].partition("/")
        arm, _, below = rest.partition("/")
        return PublicTopic(family, arm, below) if family in {"evt", "state", "svc"} and arm else None

    def _parse_request(self, topic: str) -> RequestTopic | None:
        """An arm or method longer than any name is cut: it is kept and shown, and nothing is found under it."""
        if not topic.startswith(self._requests):
            return None
        levels = topic[len(self._requests) :].split("/")
        if len(levels) != _REQUEST_LEVELS or not is_name(levels[0]) or not is_name(levels[1]):
            return None
        user, conn, arm, method = levels
        cut = max(len(arm), len(method)) >= LONGEST_SHOWN
        return RequestTopic(user, conn, arm[:LONGEST_SHOWN], method[:LONGEST_SHOWN], cut)

    def _is_reply_of(self, topic: str, user: str) -> bool:
        start = f"{self._replies}{user}/"
        if not topic.startswith(start):
            return False
        levels = topic[len(start) :].split("/")
        return len(levels) == len(("x", "leaf")) and is_name(levels[0]) and is_leaf(levels[1])

    def reply(self, user: str, conn: str, leaf: str) -> str:
        """Where a reply goes without a Response Topic."""
        return f"{self._replies}{user}/{conn}/{leaf}"

    def notice(self, user: str, conn: str, handle: int | str) -> str:
        """Where the notices of a handle go."""
        return f"{self._base}/ntf/{user}/{conn}/{handle}"

    def event(self, arm: str, below: str) -> str:
        """Where an event goes; `below` as `schema.events.event_topic` says."""
        return f"{self._base}/evt/{arm}/{below}"

    def state(self, arm: str, document: str) -> str:
        """Where a document of an arm is retained."""
        return f"{self._base}/state/{arm}/{document}"

    def meta(self, name: str) -> str:
        """Where a self-description is retained: `service`, `errors`, `asyncapi`, `factsheet/<arm>`."""
        return f"{self._base}/meta/{name}"

    def device(self, arm: str, leaf: str) -> str:
        """Where an arm that speaks MQTT is told something (`cmd`), or says something."""
        return f"{self._devices}{arm}/{leaf}"

    def parse_device(self, topic: str) -> DeviceTopic | None:
        """The levels of a topic of an arm that speaks MQTT; None if their number or the arm is bad."""
        if not topic.startswith(self._devices):
            return None
        levels = topic[len(self._devices) :].split("/")
        if len(levels) != len(DeviceTopic._fields) or not is_name(levels[0]):
            return None
        return DeviceTopic(*levels)

    def service(self, instance: str) -> str:
        """Where the presence of a service instance is retained."""
        return f"{self._base}/svc/{instance}"


def user_of(topic: str, topics: Topics) -> str:
    """The level of the user in a topic below `req/`, as it came, whatever follows; empty if none is there."""
    start = topics.request_filter.removesuffix("#")
    return topic.removeprefix(start).partition("/")[0] if topic.startswith(start) else ""


def replied_user(topic: str) -> str:
    """The level of the user in a topic that a reply goes to."""
    return topic.rsplit("/", 3)[-3]


class ReadTopics:
    """What the service reads of what it published itself, below the same root."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._base = topics.device("", "").removesuffix("dev//")

    def filters(self, names: Iterable[str]) -> tuple[str, ...]:
        """Filters of what is retained: who is there, then these documents, in this order, then the rest of `meta/`."""
        topics = self._topics
        documents = (topics.meta("factsheet/+") if name == "factsheet" else topics.state("+", name) for name in names)
        return (topics.service("+"), *documents, topics.meta("+"))

    def parse(self, topic: str) -> RetainedTopic | None:
        """The levels of a topic of `filters`; None for every other, and for what can be no arm."""
        if not topic.startswith(self._base):
            return None
        family, *levels = topic[len(self._base) :].split("/")
        match family, levels:
            case "svc", [instance]:
                return RetainedTopic(family, instance, "")
            case "meta", [name]:
                return RetainedTopic(family, "", name)
            case "meta", ["factsheet", arm] if is_name(arm):
                return RetainedTopic(family, arm, "factsheet")
            case "state", [arm, name] if is_name(arm):
                return RetainedTopic(family, arm, name)
        return None

    def marker(self, token: str) -> str:
        """A topic that only the service may read and write, and no arm has: what it publishes there comes back."""
        return self._topics.device(f"@{token}", "cmd")
