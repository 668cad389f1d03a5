"""What each account of the MQTT server may publish and read, by the settings: rules for Mosquitto. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from broker.settings import ANYBODY, EVERYBODY, ClientSettings, Fault, Groups, Settings
from broker.settings.users import OF_GROUP, arms_of
from broker.topics import Topics, is_name

AGENT = "mqtt_agent"
"""The adapter of arms that speak MQTT themselves."""
SPOKEN = ("birth", "death", "ack", "report")
VERSION = "$SYS/broker/version"
"""Where Mosquitto tells its version."""
USER, CONN, ONE, REST = "%u", "%c", "+", "#"


class Section(NamedTuple):
    """Rules of one user, or of everybody (empty): `(access, topic)` each; read, write, readwrite or deny."""

    about: str
    user: str
    rules: tuple[tuple[str, str], ...]


class Account(NamedTuple):
    """One user that the MQTT server needs, and what it is."""

    user: str
    what: str


def rule_faults(settings: Settings) -> list[Fault]:
    """What the settings say and no rule can."""
    user, faults = settings.mqtt.user, []
    agents = {arm.id for arm in settings.arm if arm.adapter == AGENT}
    if not is_name(user):
        text = "is missing: the rules name the service by it" if not user else f"{user!r} cannot stand in a topic"
        faults.append(Fault(("mqtt", "user"), f"mqtt.user: {text}"))
    if user in settings.clients:
        faults.append(Fault(("clients", user), f"clients.{user}: is the user of the service"))
    if user in agents:
        faults.append(Fault(("mqtt", "user"), f"mqtt.user: {user!r} is the account of an arm, too"))
    return faults


def accounts(settings: Settings) -> list[Account]:
    """The users, the service first, each once."""
    agents = sorted(arm.id for arm in settings.arm if arm.adapter == AGENT)
    people = sorted(set(settings.clients) - {ANYBODY, *agents})
    kinds = {user: "monitor" if _entry(settings, user).requests is False else "client" for user in people}
    return [
        Account(settings.mqtt.user, "service"),
        *(Account(user, kinds[user]) for user in people),
        *(Account(arm, "arm") for arm in agents),
    ]


def sections(settings: Settings) -> list[Section]:
    """All rules, in an order that depends on names alone."""
    topics = Topics(settings.root)
    agents = sorted(arm.id for arm in settings.arm if arm.adapter == AGENT)
    users = sorted({*settings.clients, *agents} - {ANYBODY})
    restricted = any(entry.reads is not None for entry in settings.clients.values())
    found = [_service(topics, settings.mqtt.user), _everybody(topics, settings, restricted=restricted)]
    for user in users:
        rules: list[tuple[str, str]] = []
        if not _asks(settings, user, agent=user in agents):
            rules.append(("deny", topics.request_filter))
        if user in agents:
            rules += [("write", topics.device(user, leaf)) for leaf in SPOKEN]
            rules.append(("read", topics.device(user, "cmd")))
        if restricted and user in settings.clients:
            rules += _readable(topics, _reads(settings, user))
        if rules:
            found.append(Section(_about(settings, user, agents), user, tuple(rules)))
    return found


def text(settings: Settings, source: str) -> str:
    """The rules as Mosquitto reads them; `source` is what they were made of."""
    lines = [
        f"# Who may use which topic; written by `armbroker acl` from {source}: change that, and write it again.",
        "# Grant nothing more: above all nothing before the first user, no pattern with %c but without %u.",
    ]
    for about, user, rules in sections(settings):
        keyword = "topic" if user else "pattern"
        lines += ["", f"# {about}", *([f"user {user}"] if user else [])]
        lines += [f"{keyword} {access} {topic}" for access, topic in rules]
    return "\n".join(lines) + "\n"


def _service(topics: Topics, user: str) -> Section:
    written = (topics.reply(ONE, ONE, ONE), topics.notice(ONE, ONE, ONE), topics.event(ONE, REST))
    return Section(
        "The service.",
        user,
        (
            ("read", topics.request_filter),
            *(("write", topic) for topic in written),
            *(("readwrite", topic) for topic in (topics.state(ONE, ONE), topics.meta(REST), topics.service(ONE))),
            ("write", topics.device(ONE, "cmd")),
            *(("read", topics.device(ONE, leaf)) for leaf in ("cmd", *SPOKEN)),
            ("read", VERSION),
        ),
    )


def _everybody(topics: Topics, settings: Settings, *, restricted: bool) -> Section:
    """Requests under the own name and client id, what comes back, and what all may read."""
    asks = _entry(settings, ANYBODY).requests is not False
    public = _readable(topics, _reads(settings, ANYBODY) if restricted else None)
    return Section(
        "Everybody: requests under the own user name and client id, their replies and notices, what all may read.",
        "",
        (
            *([("write", topics.request(USER, CONN, ONE, ONE))] if asks or _some_ask(settings) else []),
            ("read", topics.reply(USER, ONE, ONE)),
            ("read", topics.notice(USER, ONE, ONE)),
            ("read", topics.meta(ONE)),
            ("read", topics.service(ONE)),
            *public,
        ),
    )


def _readable(topics: Topics, arms: Iterable[str] | None) -> list[tuple[str, str]]:
    """Reading of documents and events of arms, of the documents of groups; None: of all."""
    found: list[tuple[str, str]] = []
    for arm in (ONE,) if arms is None else sorted(arms):
        found.append(("read", topics.state(arm, ONE)))
        if not arm.startswith(OF_GROUP):
            found += [("read", topics.event(arm, REST)), ("read", topics.meta(f"factsheet/{arm}"))]
    return found


def _entry(settings: Settings, user: str) -> ClientSettings:
    """What is said of requests and reading, with what the entry leaves out."""
    anybody = settings.clients.get(ANYBODY, ClientSettings())
    entry = settings.clients.get(user, anybody)
    return ClientSettings(
        reads=anybody.reads if entry.reads is None else entry.reads,
        requests=anybody.requests if entry.requests is None else entry.requests,
    )


def _asks(settings: Settings, user: str, *, agent: bool) -> bool:
    """Whether a user sends requests; the account of an arm only if it has an entry of its own."""
    return (user in settings.clients or not agent) and _entry(settings, user).requests is not False


def _some_ask(settings: Settings) -> bool:
    return any(_entry(settings, user).requests is not False for user in settings.clients)


def _reads(settings: Settings, user: str) -> Iterable[str] | None:
    """The arms that a user may read, and the groups of which it reads every arm; None: all, also those that come later.

    What is told of the whole fleet (its plans, its recipes) is for those who read all.
    """
    reads = _entry(settings, user).reads
    if reads is None or not {ANYBODY, f"@{EVERYBODY}"}.isdisjoint(reads):
        return None
    groups = Groups(settings)
    arms = arms_of(reads, groups)
    whole = [group.address for name, group in groups.by_name.items() if name != EVERYBODY and group.members <= arms]
    return {*arms, *whole}


def _about(settings: Settings, user: str, agents: list[str]) -> str:
    asks = "sends requests" if _asks(settings, user, agent=user in agents) else "sends no requests"
    return f"{'An arm that speaks MQTT' if user in agents else 'A client'}; it {asks}."
