"""Every topic of the service is built and parsed here."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import msgspec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")
_LEAF = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
ROOT_LEVELS = 5
_REQUEST_LEVELS = 4
LONGEST_SHOWN = 65
"""Characters of an arm or method that are kept and shown; names are shorter."""
_NAMES_KEPT, _TOPICS_KEPT = 65_536, 8_192
_LONGEST_NAME, _LONGEST_TOPIC = 64, 640
"""Characters of what is remembered: what is longer holds no names, and may be as long as MQTT lets it be."""

SUMMARY = "fleet"
"""The document of a group below `state/`."""

FoundT = TypeVar("FoundT")


class Remembered(dict[str, FoundT], Generic[FoundT]):
    """What was found out about texts, by text: found out once, and again of long texts and after many others."""

    def __init__(self, find: Callable[[str], FoundT], longest: int, most: int) -> None:
        super().__init__()
        self._find, self._longest, self._most = find, longest, most

    def __missing__(self, text: str) -> FoundT:
        """Look at a text that is not known."""
        found = self._find(text)
        if len(text) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[text] = found
        return found


NAMES = Remembered(lambda text: _NAME.match(text) is not None, _LONGEST_NAME, _NAMES_KEPT)
"""Whether a level is a user, connection or arm id."""
is_name = NAMES.__getitem__
"""The same as a function."""


def is_leaf(text: str) -> bool:
    """Whether a level can end a reply topic, and an id can be one."""
    return _LEAF.match(text) is not None


def is_group(level: str) -> bool:
    """Whether the level of an arm is that of a group, `@<name>`."""
    return level.startswith("@") and is_name(level[1:])


class _Below(dict[tuple[str, str], str]):
    """What two levels make below a base, with `end` behind them."""

    def __init__(self, base: str, end: str = "") -> None:
        super().__init__()
        self._base, self._end = base, end

    def __missing__(self, levels: tuple[str, str]) -> str:
        """Make a topic, once while it is among the last ones."""
        if len(self) >= _TOPICS_KEPT:
            self.clear()
        topic = self[levels] = f"{self._base}{levels[0]}/{levels[1]}{self._end}"
        return topic


class RequestTopic(msgspec.Struct, frozen=True, gc=False):
    """The levels of a request topic; `arm` and `method` as they came, but for what is too long for any name.

    `cut`: the arm or method may have been longer than it is here; no name is so long.
    """

    user: str
    conn: str
    arm: str
    method: str
    cut: bool = False

    def of(self, arm: str) -> "RequestTopic":
        """The same of another arm."""
        return msgspec.structs.replace(self, arm=arm)


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
        self.events = _Below(f"{self._base}/evt/")
        """Where events go, by arm and by what `schema.events.EVENT_TOPICS` says of their names."""
        self.replies = _Below(self._replies, "/")
        """What the topics of replies begin with where there is no Response Topic, by user and connection."""
        self.requests = Remembered(partial(_parsed_request, self._requests), _LONGEST_TOPIC, _TOPICS_KEPT)
        """The levels of request topics; None if their number, the user or the connection is bad."""
        self.parse_request = self.requests.__getitem__
        """The same as a function."""
        self._reply_users = Remembered(partial(_reply_user, self._replies), _LONGEST_TOPIC, _TOPICS_KEPT)
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

    def is_reply_of(self, topic: str, user: str) -> bool:
        """Whether a Response Topic is exactly `res/<user>/<x>/<leaf>`."""
        return self._reply_users[topic] == user != ""

    def reply(self, user: str, conn: str, leaf: str) -> str:
        """Where a reply goes without a Response Topic."""
        return f"{self._replies}{user}/{conn}/{leaf}"

    def notice(self, user: str, conn: str, handle: int | str) -> str:
        """Where the notices of a handle go."""
        return f"{self._base}/ntf/{user}/{conn}/{handle}"

    def event(self, arm: str, below: str) -> str:
        """Where an event goes; `below` as `schema.events.EVENT_TOPICS` says."""
        return self.events[arm, below]

    def state(self, arm: str, document: str) -> str:
        """Where a document of an arm is retained."""
        return f"{self._base}/state/{arm}/{document}"

    def summary(self, group: str) -> str:
        """Where the summary of a group is retained."""
        return f"{self._base}/state/@{group}/{SUMMARY}"

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


def _parsed_request(base: str, topic: str) -> RequestTopic | None:
    """An arm or method longer than any name is cut: it is kept and shown, and nothing is found under it."""
    if not topic.startswith(base):
        return None
    levels = topic[len(base) :].split("/")
    if len(levels) != _REQUEST_LEVELS or not is_name(levels[0]) or not is_name(levels[1]):
        return None
    user, conn, arm, method = levels
    cut = max(len(arm), len(method)) >= LONGEST_SHOWN
    return RequestTopic(user, conn, arm[:LONGEST_SHOWN], method[:LONGEST_SHOWN], cut)


def _reply_user(base: str, topic: str) -> str:
    """The user of a topic `res/<user>/<x>/<leaf>`; empty for every other."""
    if not topic.startswith(base):
        return ""
    user, *levels = topic[len(base) :].split("/")
    fits = len(levels) == len(("x", "leaf")) and is_name(levels[0]) and is_leaf(levels[1])
    return user if fits else ""


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
            case "state", [arm, name] if is_name(arm) or (is_group(arm) and name == SUMMARY):
                return RetainedTopic(family, arm, name)
        return None

    def marker(self, token: str) -> str:
        """A topic that only the service may read and write, and no arm has: what it publishes there comes back."""
        return self._topics.device(f"@{token}", "cmd")
