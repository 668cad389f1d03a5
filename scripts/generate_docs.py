"""Write `docs/rpcs.md` and `docs/errors.md` from the tables that the service runs on.

`python -m scripts.generate_docs FOLDER`, from the root of the repository; `scripts/generate` does it.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from handlers.methods.simulation import FAULTS
from handlers.rpc.row import Access, Address, Rpc
from handlers.rpc_table import FLEET_METHODS, RPC_TABLE, SERVICE_METHODS
from schema.arms import FLEET
from schema.enums import ControlMode
from schema.errors import ERRORS, SUB_CODES, ErrorRow, Retry
from schema.events import EVENTS, FLEET_CLASSES, EventClass, EventRow, event_topic
from schema.fields import Field, fields_of
from schema.items import CONFIG_ITEMS, ITEMS, ConfigItem
from schema.messages import Message
from schema.warnings import WARNINGS

RPCS, ERRORS_PAGE = Path("docs/rpcs.md"), Path("docs/errors.md")
NOTE = "Written by `scripts/generate` from the tables that the service runs on: change those, not this page."
METHODS_INTRO = """A `write` wants an id and is remembered; a `read` may go without. `right`: what a user needs.
`unit` is what a request may assert. The event is sent when the change took effect.
"""
ITEMS_INTRO = """`upper`: less is tighter; `interval`: what lies inside is tighter; `unordered`: every change counts as
loosening. Zero: a value like others, or refused in a Set. An item that the service holds is no value of the arm: what
was accepted is in force at once, whether the arm is there or not.
"""
MESSAGES_INTRO = """A `double` that limits nothing is the text `"Infinity"` or `"-Infinity"` in JSON and MessagePack and
infinite in protobuf; NaN is refused everywhere. A list of JointLimits that limits no joint is absent. Messages without
a proto (JointLimitChange, JointNames, JointParameterMap, JointSafetyChange, JointSafetyMap, ParameterNames,
SetParametersResult) are UTF-8 JSON in protobuf.
"""
ERRORS_INTRO = """`kind` is ours and names the cause; code and sub code are those of `Kinova.Api`. A refusal by the arm
itself (`arm_refused`) carries the arm's own pair.
"""
RETRIES = {
    Retry.SAME_ID: "not remembered: send the same request again as it is, with the same id",
    Retry.REPEAT: "remembered: the same request with the same id later gives its latest stage",
    Retry.NEW_ID: "remembered: what is sent next wants a new id",
    Retry.NEVER: "the same request will be refused again",
}


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table; a `|` in a cell is escaped."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def code(text: str) -> str:
    """A word as code; empty stays empty."""
    return f"`{text}`" if text else ""


def message_of(cls: type[Message] | None) -> str:
    """The name of a message; `{}` for the mappings of methods without one."""
    return code(cls.__name__) if cls is not None else "mapping"


def event_of(rpc: Rpc) -> str:
    """The event of a change by this method."""
    if rpc.access is Access.READ or not rpc.item:
        return ""
    return code(ITEMS[rpc.item].event_name)


TO = {
    Address.ARM: "",
    Address.ARM | Address.ROWS: "; to a group: done with each arm",
    Address.ARM | Address.GROUP: "; to a group: one answer",
    Address.GROUP: "; to a group alone",
    Address.FLEET: f"; to `{FLEET}` alone",
    Address.ARM | Address.FLEET: f"; to `{FLEET}`: of the fleet itself",
}
"""What a method may be sent to, in words, beside one arm."""


def rpc_row(rpc: Rpc) -> tuple[str, ...]:
    """One line of the table of methods."""
    more = f"; lives {rpc.ttl_ms} ms unless `ttl_ms` says otherwise" if rpc.ttl_ms else ""
    more += "; any arm level" if rpc.any_arm else TO[rpc.address]
    item, unit = code(rpc.item), code(rpc.unit)
    messages = (message_of(rpc.request), message_of(rpc.reply))
    return (code(rpc.name), *messages, rpc.access.value, item, unit, event_of(rpc), rpc.right or "", rpc.summary + more)


def item_row(item: ConfigItem) -> tuple[str, ...]:
    """One line of the table of items."""
    modes = ", ".join(ControlMode(mode).name for mode in item.modes)
    unit = item.quantity.unit if item.quantity is not None else ""
    held = "the service" if item.kept_by_service else "the arm"
    slots = modes or "one slot"
    return (code(item.key), message_of(item.record), slots, item.order.value, item.zero.value, unit, held)


def field_name(field: Field) -> str:
    """A field in words: its type, `[]` for a list, `{key: value}` for a map, `?` where it may be absent."""
    kind = field.type.__name__ if field.type is not None else field.kind.value
    if field.key is not None:
        return f"`{field.name}` {{{field.key.value}: {kind}}}"
    return f"`{field.name}` {kind}{'[]' if field.repeated else ''}{'?' if field.optional else ''}"


def messages() -> list[type[Message]]:
    """Every message of the table and the messages inside them, by name."""
    open_ends = [cls for rpc in RPC_TABLE.values() for cls in (rpc.request, rpc.reply) if cls is not None]
    found: set[type[Message]] = set()
    while open_ends:
        cls = open_ends.pop()
        found.add(cls)
        open_ends += [f.type for f in fields_of(cls) if isinstance(f.type, type) and issubclass(f.type, Message)]
    return sorted(found, key=lambda cls: cls.__name__)


def message_row(cls: type[Message]) -> tuple[str, ...]:
    """One line of the table of messages."""
    summary = (cls.__doc__ or "").partition("\n")[0]
    return (code(cls.__name__), ", ".join(map(field_name, fields_of(cls))), summary)


def rpcs_page() -> str:
    """The page of methods."""
    head = ("method", "params", "result", "access", "item", "unit", "event", "right", "what it does")
    not_kinova = SERVICE_METHODS | FLEET_METHODS
    kinova = (rpc_row(rpc) for name, rpc in RPC_TABLE.items() if name not in not_kinova)
    own = (rpc_row(RPC_TABLE[name]) for name in RPC_TABLE if name in not_kinova)
    faults = f"`SimFault` knows {', '.join(map(code, FAULTS))}."
    parts = (
        f"# Methods\n\n{NOTE}\n\n{METHODS_INTRO}",
        f"## `Kinova.Api.ControlConfig`\n\n{table(head, kinova)}",
        f"## Our own\n\nParams and results without a message are mappings.\n\n{table(head, own)}\n{faults}\n",
        f"## Items\n\n{ITEMS_INTRO}",
        table(("item", "message", "slots", "order", "zero", "unit", "held by"), map(item_row, CONFIG_ITEMS)),
        f"## Messages\n\n{MESSAGES_INTRO}\n{table(('message', 'fields', 'what it is'), map(message_row, messages()))}",
    )
    return "\n".join(parts)


def error_row(kind: str, row: ErrorRow) -> tuple[str, ...]:
    """One line of the catalogue of errors."""
    names = "<br>".join(f"{SUB_CODES[name]} {name}" for name in row.names)
    return (code(kind), f"{row.code.value} {row.code.name}", names, code(row.retry), row.text, row.remedy)


def event_row(event: EventRow) -> tuple[str, ...]:
    """One line of the table of events."""
    notice = event.event_class is EventClass.NOTICE
    arm = FLEET if event.event_class in FLEET_CLASSES else "<arm>"
    topic = "ntf/<user>/<conn>/<handle>" if notice else f"evt/{arm}/{event_topic(event.name)}"
    return (code(event.name), code(topic), "" if event.number is None else str(event.number))


def errors_page() -> str:
    """The page of errors, warnings and events."""
    head = ("kind", "code", "sub code", "retry", "what happened", "what to do")
    warnings = ((code(name), *words) for name, words in WARNINGS.items())
    retries = ((code(retry), text) for retry, text in RETRIES.items())
    parts = (
        f"# Errors, warnings, events\n\n{NOTE}\n",
        f"## Errors\n\n{ERRORS_INTRO}",
        table(head, (error_row(kind, row) for kind, row in ERRORS.items())),
        f"### Retry\n\n{table(('retry', 'meaning'), retries)}",
        f"## Warnings\n\n{table(('name', 'meaning', 'what to do'), warnings)}",
        "## Events\n\nTopics below `<root>/v1/`. The number is Kinova's; events of our own have none.\n",
        table(("event", "topic", "number"), map(event_row, EVENTS.values())),
    )
    return "\n".join(parts)


def main(folder: Path) -> None:
    """Write both pages below a folder."""
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    (folder / RPCS).write_text(rpcs_page(), encoding="utf-8")
    (folder / ERRORS_PAGE).write_text(errors_page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
