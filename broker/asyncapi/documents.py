"""JSON Schema of the retained documents: `state`, `meta`, `svc`."""

from broker.asyncapi.messages import ITEM, Catalogue
from broker.asyncapi.messages import MODE as MODE_NAME
from broker.asyncapi.shapes import (
    ANY,
    FLAG,
    MAPPING,
    NUMBER,
    TEXT,
    TIME,
    Schema,
    either,
    listed,
    mapped,
    one_of,
    record,
    ref,
    whole,
)
from broker.counters import COUNTERS
from broker.publish.contents import CONFIG, EFFECTIVE, MODE, PRESENCE, REPORTED
from handlers.fleet.summary import ATTENTION, NUMBERS
from handlers.methods.overrides import DIRECTIONS
from schema.arms import Activity, Authority
from schema.items import CONFIG_ITEMS
from schema.messages import KinematicLimits

_SHARED: dict[str, Schema] = {
    "arm": TEXT, "svc": TEXT, "epoch": whole(), "rev": whole(), "seq": whole(), "at": TIME,
    "left_out": listed(MAPPING),
}  # fmt: skip
_MODES = ref(MODE_NAME)
_BY = record({"user": TEXT, "connection": TEXT, "proven": FLAG}, ("user", "connection", "proven"))


def _nullable(schema: Schema) -> Schema:
    """What a document that had no room leaves out is null."""
    return {"anyOf": [schema, {"type": "null"}]}


def _document(own: dict[str, Schema], required: tuple[str, ...]) -> Schema:
    """A document of an arm: what all of them share, and what it has itself."""
    fields = {name: _nullable(schema) for name, schema in own.items()}
    return record(_SHARED | fields, (*(name for name in _SHARED if name != "left_out"), *required))


def items_schema(catalogue: Catalogue) -> Schema:
    """The values of all items: a message, or values by control mode."""
    return record(
        {
            item.key: mapped(catalogue.value_of(item.record, item.field)) if item.modes else catalogue.of(item.record)
            for item in CONFIG_ITEMS
            if item.key != "control_mode"
        }
    )


def state_schemas(catalogue: Catalogue) -> dict[str, Schema]:
    """The documents below `state/`, by name."""
    hold = {"type": "object"}
    presence = {
        "state": one_of("online", "offline", "unknown", "held"), "ready": FLAG, "activity": one_of(*Activity),
        "since": TIME, "adapter": TEXT, "model": TEXT, "serial": TEXT, "joints": whole(), "session": ANY,
        "authority": one_of(*Authority), "hold": hold, "why": TEXT,
    }  # fmt: skip
    reported = {
        "items": ref("Items"), "hard_limits": catalogue.of(KinematicLimits), "mode": _MODES, "firmware": TEXT,
        "read_at": TIME,
    }  # fmt: skip
    effective = {
        "joints": listed(TEXT), "units": mapped(either(TEXT, listed(TEXT))), "sources": listed(MAPPING),
        "other_modes": MAPPING, "modes": MAPPING, "unknown_mode": MAPPING, "why": TEXT,
    }  # fmt: skip
    return {
        PRESENCE: _document(presence, ("state", "ready", "activity", "authority")),
        CONFIG: _document(_config(), ("items", "pending", "differs")),
        MODE: _document(
            {"control_mode": _MODES, "mode_seen_at": TIME, "desired": _MODES, "by": _BY},
            ("control_mode", "mode_seen_at"),
        ),
        REPORTED: _document(reported, ("items",)),
        EFFECTIVE: _document(effective, ()),
    }


def _config() -> dict[str, Schema]:
    """What a config document has of its own."""
    pending = record(
        {
            "rev": whole(),
            "item": TEXT,
            "slot": TEXT,
            "items": listed(TEXT),
            "since": TIME,
            "state": TEXT,
            "when": one_of("idle"),
            "why": TEXT,
        },
        ("rev", "item", "since", "state"),
    )
    recipe = record(
        {
            "name": TEXT, "version": whole(1), "digest": TEXT, "rev": whole(), "at": TIME, "by": _BY,
            "drift": listed(TEXT),
        },
        ("name", "version", "digest", "rev", "at", "by", "drift"),
    )  # fmt: skip
    return {
        "items": ref("Items"), "pending": listed(pending), "differs": listed(TEXT), "recipe": recipe,
        "overrides": listed(_override()),
    }  # fmt: skip


def _override() -> Schema:
    """One of the changes with an end in the config document."""
    return record(
        {
            "rev": whole(1), "paths": listed(TEXT), "since": TIME, "until": TIME, "left_ms": whole(), "by": _BY,
            "request_id": TEXT, "plan": whole(1), "direction": one_of(*DIRECTIONS),
            "state": one_of("live", "covered", "returning", "overdue"), "ground": MAPPING,
        },
        ("rev", "paths", "since", "until", "left_ms", "by", "direction", "state", "ground"),
    )  # fmt: skip


def summary_schema() -> Schema:
    """The document `state/@<group>/fleet`."""
    numbers: dict[str, Schema] = dict.fromkeys(NUMBERS, whole())
    return _document(
        {
            **numbers, "authority": record(dict.fromkeys(Authority, whole())), "next_end": TIME,
            "recipes": mapped(whole()), "plans": listed(whole(1)),
            "attention": listed(record({"arm": TEXT, "why": one_of(*ATTENTION)}, ("arm", "why"))),
        },
        (*NUMBERS, "authority", "recipes", "plans", "attention"),
    )  # fmt: skip


def plan_schema() -> Schema:
    """The document `state/@all/plan-<n>`."""
    return {
        "type": "object",
        "required": ["arm", "svc", "epoch", "plan", "kind", "state", "target", "method", "counts"],
    }


def service_schema() -> Schema:
    """The document `svc/<instance>`."""
    clock = record({"state": one_of("ok", "ahead", "behind"), "seconds": NUMBER}, ("state", "seconds"))
    return record(
        {
            "state": one_of("starting", "online", "offline"), "since": TIME, "seen_at": TIME, "version": TEXT,
            "epoch": whole(), "start": TEXT, "counters": record(dict.fromkeys(COUNTERS, whole())), "clock": clock,
            "passed": FLAG, "take_over": FLAG, "metrics": MAPPING, "left_out": listed(MAPPING),
        },
        ("state", "since", "seen_at", "version", "epoch", "start"),
    )  # fmt: skip


def meta_schemas() -> dict[str, Schema]:
    """The documents below `meta/`, by the name of their channel."""
    factsheet: dict[str, Schema] = {
        "arm": TEXT, "adapter": TEXT, "model": TEXT, "serial": TEXT, "methods": listed(TEXT),
        "items": listed(ref(ITEM)), "authority": one_of(*Authority), "modes_settable": listed(_MODES),
        "groups": listed(TEXT), "activities": listed(one_of(*Activity)), "idle_modes": listed(_MODES),
        "joints": listed(record({"name": TEXT, "type": TEXT}, ("name", "type"))),
    }  # fmt: skip
    service: dict[str, Schema] = {
        "name": TEXT, "version": TEXT, "protocol": whole(), "epoch": whole(), "root": TEXT, "instance": TEXT,
        "identity": TEXT, "methods": listed(TEXT), "codecs": listed(TEXT), "limits": MAPPING,
        "payload_with_lists": mapped(whole()), "features": listed(TEXT), "service_version": MAPPING,
        "policy": record({"digest": TEXT, "rules": whole()}, ("digest", "rules")), "notice": TEXT,
        "left_out": listed(MAPPING),
    }  # fmt: skip
    error = record(
        {"kind": TEXT, "code": whole(), "names": listed(TEXT), "retry": TEXT, "text": TEXT, "remedy": TEXT},
        ("kind", "code", "names", "retry", "text", "remedy"),
    )
    return {
        "metaService": record(service, ("name", "version", "protocol", "epoch", "root", "instance", "methods")),
        "metaErrors": record({"errors": listed(error), "left_out": listed(MAPPING)}, ("errors",)),
        "metaAsyncapi": MAPPING,
        "metaGroups": record({"groups": mapped(whole()), "left_out": listed(MAPPING)}, ("groups",)),
        "metaFactsheet": record(factsheet, ("arm", "adapter", "model", "authority", "methods"), closed=False),
    }
