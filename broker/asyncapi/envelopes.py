"""JSON Schema of what stands around messages: requests, replies, events."""

from broker.asyncapi.messages import ITEM, LIMIT, Catalogue
from broker.asyncapi.shapes import ANY, FLAG, NULL, TEXT, TIME, Schema, either, listed, one_of, record, ref, whole
from schema.codecs.envelope import IDLE_TTL_LIMIT_MS, ONLY_MOST, PARALLEL_MOST, VALID_FOR_MS
from schema.envelope import Away, Stage, View, Wait, When
from schema.errors import ERRORS, Retry
from schema.events import EVENTS, EventClass
from schema.messages import ControlConfigurationNotification, ControlModeNotification
from schema.warnings import WARNINGS

LONGEST_REASON = 200
_AUTHOR = record({"user": TEXT, "connection": TEXT, "proven": FLAG}, ("user", "connection", "proven"))
_BOUND = ref(LIMIT)


def request_schema() -> Schema:
    """A request, whatever its params are."""
    return record(
        {
            "id": either({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}, whole(0, 2**63 - 1)),
            "params": {"type": "object"},
            "if_rev": whole(),
            "dry_run": FLAG,
            "wait": one_of(*(each.name.lower() for each in Wait)),
            "issued_at": either(TIME, whole()),
            "ttl_ms": whole(1, IDLE_TTL_LIMIT_MS),
            "reason": {"type": "string", "maxLength": LONGEST_REASON},
            "unit": one_of("deg", "rad"),
            "view": one_of(*(each.name.lower() for each in View)),
            "valid_for_ms": whole(*VALID_FOR_MS),
            "until": TIME,
            "when": one_of(*(each.name.lower() for each in When)),
            "group": record(
                {
                    "all_or_nothing": FLAG,
                    "away": one_of(*(each.name.lower() for each in Away)),
                    "only": {**listed(TEXT), "minItems": 1, "maxItems": ONLY_MOST},
                    "parallel": whole(1, PARALLEL_MOST),
                }
            ),
        }
    )


def reply_schema() -> Schema:
    """A reply, whatever its result is."""
    return record(
        {
            "id": TEXT, "arm": TEXT, "method": TEXT, "ok": FLAG, "stage": one_of(*Stage), "final": FLAG,
            "result": {"type": ["object", "null"]}, "error": ref("Error"), "warnings": listed(ref("Warning")),
            "rev": whole(), "seq": whole(), "duplicate": FLAG, "in_force": FLAG, "at": TIME, "reported_at": TIME,
            "desired": {"type": ["object", "null"]}, "pending_rev": whole(), "mode_seen_at": TIME,
            "left_out": listed({"type": "object"}), "plan": whole(1), "until": TIME,
        },
        ("id", "arm", "method", "ok", "stage", "final", "rev", "seq"),
    )  # fmt: skip


def error_schemas() -> dict[str, Schema]:
    """What replies tell of errors and warnings."""
    violation = record(
        {
            "path": TEXT, "joint": whole(1), "joint_name": TEXT, "got": _BOUND, "bound": _BOUND, "unit": TEXT,
            "relation": one_of("<=", ">=", "=="), "source": TEXT, "suggest": either(_BOUND, listed(_BOUND)),
        },
        ("path", "got", "bound", "unit", "relation", "source"),
    )  # fmt: skip
    return {
        "Error": record(
            {
                "code": whole(), "sub_code": whole(), "name": TEXT, "kind": one_of(*ERRORS), "message": TEXT,
                "violations": listed(violation), "retry": one_of(*Retry), "retry_after_ms": whole(), "rule": TEXT,
            },
            ("code", "sub_code", "name", "kind", "retry"),
        ),
        "Warning": record({"name": one_of(*WARNINGS), "message": TEXT, "path": TEXT}, ("name",)),
    }  # fmt: skip


def event_schema(catalogue: Catalogue) -> Schema:
    """An event, and a notice of one."""
    notifications = (catalogue.of(ControlConfigurationNotification), catalogue.of(ControlModeNotification))
    change = record({"item": ref(ITEM), "slot": TEXT, "before": ANY, "after": ANY}, ("item", "before", "after"))
    return record(
        {
            "arm": TEXT, "epoch": whole(), "seq": whole(1), "prev": whole(), "rev": whole(), "at": TIME, "cause": TEXT,
            "stage": one_of(*Stage), "request_id": TEXT, "by": _AUTHOR, "event": TEXT,
            "notification": either(*notifications, NULL), "change": either(change, {"type": "object"}, NULL),
            "reason": either(TEXT, NULL), "kind": one_of(*ERRORS), "count": whole(1), "plan": whole(1), "until": TIME,
            "details": {"type": "object"},
            "left_out": listed({"type": "object"}),
        },
        ("arm", "epoch", "seq", "prev", "rev", "at", "cause", "stage", "by", "event"),
    )  # fmt: skip


def event_names(event_class: EventClass) -> list[str]:
    """The events of a topic."""
    return [row.name for row in EVENTS.values() if row.event_class is event_class]
