"""Write `docs/protocol.md`: the whole contract with clients, from the tables that the service runs on.

`python -m scripts.generate_protocol FOLDER`, from the root of the repository; `scripts/generate` does it.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from broker.counters import COUNTERS
from handlers.rpc.row import Access, Rpc
from handlers.rpc_table import RPC_TABLE
from schema.envelope import LISTS_LIMIT, PAYLOAD_LIMIT
from schema.errors import ERRORS
from schema.events import EVENTS, EventClass
from schema.fields import fields_of
from schema.items import CONFIG_ITEMS
from schema.proto.armbroker.v1 import armbroker_pb2 as wire
from scripts import protocol_tables as tables
from scripts.generate_docs import NOTE, code, field_name, message_of, messages, table

PAGE = Path("docs/protocol.md")
TEMPLATE = Path(__file__).with_name("protocol.template.md")
"""The prose; `{{name}}` stands for a table."""
_TYPES = {
    FieldDescriptor.TYPE_STRING: "string", FieldDescriptor.TYPE_BYTES: "bytes", FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_UINT32: "uint32", FieldDescriptor.TYPE_UINT64: "uint64", FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_DOUBLE: "double",
}  # fmt: skip


def agreeing(names: Iterable[str], texts: Mapping[str, object], of: str) -> None:
    """Refuse texts that are missing or too many.

    Raises:
        ValueError: names and texts differ.
    """
    known = set(names)
    if known != texts.keys():
        raise ValueError(f"{of}: no text for {known - texts.keys()}, texts in vain: {texts.keys() - known}")


def fields(message: Descriptor, texts: tables.Texts) -> str:
    """The fields of a message of the envelope, with their numbers in protobuf."""
    agreeing((field.name for field in message.fields), texts, message.name)
    rows = (
        (code(field.name), str(field.number), _type(field), texts[field.name])
        for field in sorted(message.fields, key=lambda field: field.number)
    )
    return table(("field", "number", "type in protobuf", "what it is"), rows)


def _type(field: FieldDescriptor) -> str:
    kind = field.message_type or field.enum_type
    name = kind.name if kind is not None else _TYPES[field.type]
    return f"{name}[]" if field.is_repeated else name


def plain(texts: tables.Texts) -> str:
    """Fields of a document."""
    return table(("field", "what it is"), ((code(name), text) for name, text in texts.items()))


def method_row(rpc: Rpc) -> tuple[str, ...]:
    """One method with what it takes and gives."""
    if rpc.request is None and rpc.reply is None:
        params, result = tables.MAPPINGS[rpc.name]
    else:
        params, result = message_of(rpc.request), message_of(rpc.reply)
        if rpc.name in tables.MAPPINGS:
            result = tables.MAPPINGS[rpc.name][1]
    write = rpc.access is Access.WRITE
    return (
        code(rpc.name),
        params or "`{}`",
        result,
        rpc.access.value,
        code(rpc.unit),
        rpc.right.value if write and rpc.right else "",
        rpc.summary,
    )


def methods() -> str:
    """All methods."""
    agreeing((rpc.name for rpc in RPC_TABLE.values() if rpc.reply is None), tables.MAPPINGS, "methods")
    head = ("method", "params", "result", "access", "unit", "right", "what it does")
    return table(head, map(method_row, RPC_TABLE.values()))


def bounds() -> str:
    """What a Set of each item has to keep to."""
    agreeing((item.key for item in CONFIG_ITEMS), tables.BOUNDS, "items")
    rows = (
        (
            code(item.key),
            code(item.record.__name__),
            "one a control mode" if item.modes else "",
            tables.BOUNDS[item.key],
        )
        for item in CONFIG_ITEMS
    )
    return table(("item", "message", "slots", "bounds of a Set"), rows)


def events() -> str:
    """All events by topic."""
    rows = (
        (
            code(row.name),
            "ntf" if row.event_class is EventClass.NOTICE else row.event_class.value,
            "" if row.number is None else str(row.number),
        )
        for row in EVENTS.values()
    )
    return table(("event", "topic below `evt/<arm>/` or `evt/@all/`", "Kinova's number"), rows)


def kinds() -> str:
    """All error kinds, in short."""
    rows = ((code(kind), str(row.code.value), row.retry, row.text) for kind, row in ERRORS.items())
    return table(("kind", "code", "retry", "what happened"), rows)


def documents() -> str:
    """All documents below `state/`."""
    parts = [f"Every document begins with:\n\n{plain(tables.SHARED)}"]
    parts += [f"**`state/<arm>/{name}`**\n\n{plain(texts)}" for name, texts in tables.DOCUMENTS.items()]
    parts.append(f"**`state/@<group>/fleet`**, the summary of a group\n\n{plain(tables.SUMMARY)}")
    return "\n".join(parts)


def page() -> str:
    """The whole page: prose with the tables in their places."""
    row = wire.DESCRIPTOR.message_types_by_name
    head = ("topic", "direction", "QoS", "retained", "what it is")
    filled = {
        "note": NOTE,
        "payload_limit": f"{PAYLOAD_LIMIT:,}",
        "lists_limit": f"{LISTS_LIMIT:,}",
        "topics": table(head, ((code(topic), *more) for topic, *more in tables.TOPICS)),
        "request": fields(row["Request"], tables.REQUEST),
        "reply": fields(row["Reply"], tables.REPLY),
        "error": fields(row["Error"], tables.ERROR),
        "violation": fields(row["Violation"], tables.VIOLATION),
        "event": fields(row["Event"], tables.EVENT),
        "kinds": kinds(),
        "events": events(),
        "documents": documents(),
        "service": plain(tables.SERVICE),
        "counters": table(("counter", "what it counts"), ((code(name), text) for name, text in COUNTERS.items())),
        "meta": table(("topic", "fields"), ((code(topic), text) for topic, text in tables.META.items())),
        "methods": methods(),
        "bounds": bounds(),
        "messages": table(
            ("message", "fields"),
            ((code(cls.__name__), ", ".join(map(field_name, fields_of(cls)))) for cls in messages()),
        ),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, part in filled.items():
        if f"{{{{{name}}}}}" not in text:
            raise ValueError(f"the page has no place for {name}")
        text = text.replace(f"{{{{{name}}}}}", part.rstrip("\n"))
    return text


def main(folder: Path) -> None:
    """Write the page below a folder."""
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
