"""One arm as a screen shows it: its documents, and the line of them in a table. Pure."""

from typing import Any

import msgspec

DOCUMENTS = ("config", "reported", "mode", "effective", "presence")
PRESENCES = ("held", "offline", "unknown", "online")
"""States of presence, what wants looking at first."""
WAITING = ("held", "unknown", "writing", "accepted")
"""States of a pending change, what wants looking at first."""


class ArmRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The line of an arm; what is not known is empty. `v` counts what was seen of the arm."""

    id: str
    v: int = 0
    svc: str = ""
    presence: str = "unknown"
    ready: bool = False
    mode: str = ""
    asked: str = ""
    """The mode that was asked for, while it is another one."""
    authority: str = ""
    pending: int = 0
    waits: str = ""
    """The state of a pending change that wants looking at first."""
    drift: int = 0
    """Values that the arm reports otherwise than is desired."""
    lock: str = ""
    """Who holds the arm."""
    why: str = ""
    model: str = ""
    serial: str = ""
    since: str = ""
    rev: int = 0
    overrides: int = 0
    """Changes with an end that are in force, or wait below others."""
    ends: str = ""
    """When the first of them ends."""
    overdue: int = 0
    """Ends that the arm has not taken."""
    recipe: str = ""
    """The recipe that was applied last, `weld@3`."""
    recipe_drift: int = 0
    """Values that are not those of it."""

    @property
    def calm(self) -> bool:
        """Whether nobody needs to look at it."""
        return (
            self.presence == "online" and self.ready and not (self.pending or self.drift or self.lock or self.overdue)
        )


class ArmFacts:
    """The documents of one arm by name, as they came last."""

    def __init__(self, arm: str) -> None:
        self.arm = arm
        self.documents: dict[str, dict[str, Any]] = {}
        self.seen_in = 0
        """The number of the connection that told of it last."""
        self._seen = 0
        self.row = ArmRow(arm)

    def take(self, name: str, document: dict[str, Any]) -> bool:
        """Keep a document; whether it says something new."""
        if self.documents.get(name) == document:
            return False
        self.documents[name] = document
        self._seen += 1
        self.row = self._row()
        return True

    def clear(self, name: str) -> bool:
        """Forget a document; whether nothing is left."""
        self.documents.pop(name, None)
        self._seen += 1
        self.row = self._row()
        return not self.documents

    def document(self, name: str) -> dict[str, Any]:
        """A document; empty where there is none."""
        return self.documents.get(name, {})

    def _row(self) -> ArmRow:
        presence, mode, config = (self.document(name) for name in ("presence", "mode", "config"))
        pending = [entry for entry in listed(config.get("pending")) if isinstance(entry, dict)]
        states = {text(entry.get("state")) for entry in pending}
        lock, recipe = presence.get("hold"), table(config.get("recipe"))
        overrides = [entry for entry in listed(config.get("overrides")) if isinstance(entry, dict)]
        return ArmRow(
            id=self.arm,
            v=self._seen,
            svc=next((text(each.get("svc")) for each in self.documents.values()), ""),
            presence=text(presence.get("state")) or "unknown",
            ready=presence.get("ready") is True,
            mode=text(mode.get("control_mode")),
            asked=text(mode.get("desired")),
            authority=text(presence.get("authority")),
            pending=len(pending),
            waits=next((state for state in WAITING if state in states), next(iter(sorted(states)), "")),
            drift=len(listed(config.get("differs"))),
            lock=by_text(lock.get("by")) if isinstance(lock, dict) else "",
            why=text(presence.get("why")),
            model=text(presence.get("model")),
            serial=text(presence.get("serial")),
            since=text(presence.get("since")),
            rev=max((number(each.get("rev")) for each in self.documents.values()), default=0),
            overrides=len(overrides),
            ends=min((text(entry.get("until")) for entry in overrides), default=""),
            overdue=sum(entry.get("state") == "overdue" for entry in overrides),
            recipe=f"{text(recipe.get('name'))}@{number(recipe.get('version'))}" if recipe else "",
            recipe_drift=len(listed(recipe.get("drift"))),
        )


def text(value: object) -> str:
    """A text of a document; empty where it is none."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """A whole number of a document; 0 where it is none."""
    return value if isinstance(value, int) else 0


def listed(value: object) -> list[Any]:
    """A list of a document; empty where it is none."""
    return value if isinstance(value, list) else []


def table(value: object) -> dict[str, Any]:
    """An object of a document; empty where it is none."""
    return value if isinstance(value, dict) else {}


def by_text(by: object) -> str:
    """Who did something: user and connection, or as it stands; `?` behind names that nobody proves."""
    if not isinstance(by, dict):
        return text(by)
    names = "/".join(filter(None, (text(by.get("user")), text(by.get("connection")))))
    return names if by.get("proven") is True or names.startswith("@") else f"{names}?"
