"""What strangers send to the methods of fleets: params and options of every wrong kind, on a client of its own."""

import itertools
import json
import queue
import re
import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import msgpack
import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.journey.forms import CONTENT_TYPES, decode_reply
from tests.links import PATIENCE_S

Document = dict[str, Any]
ABSENT = object()
IN_FLIGHT = 4
ITEMS = {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.16}, "payload_information": {"payload_mass": 1.0}}
PATH = "twist_linear_soft_limit/CARTESIAN_JOYSTICK"
METHODS: Mapping[tuple[str, str], Document] = {
    ("r1", "ApplyConfig"): {"items": ITEMS, "partial": False, "on_failure": "leave"},
    ("@cell", "ApplyConfig"): {"items": ITEMS},
    ("r1", "ApplyRecipe"): {"recipe": "weld", "version": 1, "items": [PATH], "partial": False, "on_failure": "leave"},
    ("@cell", "ApplyRecipe"): {"recipe": "weld", "version": 1},
    ("@all", "PutRecipe"): {"name": "other", "items": ITEMS, "models": ["gen3_7dof"], "note": "n", "if_version": 0},
    ("@all", "GetRecipe"): {"name": "weld", "version": 1},
    ("@all", "ListRecipes"): {"prefix": "w", "after": "a", "limit": 3},
    ("@all", "DeleteRecipe"): {"name": "weld", "if_version": 1},
    ("r1", "RestoreRevision"): {"rev": 2, "items": [PATH], "partial": True, "on_failure": "leave"},
    ("r1", "Diff"): {"from": {"recipe": "weld", "version": 1}, "to": {"items": ITEMS}, "items": [PATH]},
    ("@cell", "Diff"): {"from": {"view": "ground"}, "to": {"arm": "r1", "rev": 1}, "after": "a", "limit": 2},
    ("r1", "Blame"): {"items": [PATH]},
    ("@cell", "FindArms"): {
        "where": {
            "arms": ["r1"], "groups": ["cell"], "model": "gen3_7dof", "presence": "online", "activity": "idle",
            "mode": "IDLE", "held_by": "", "recipe": "weld@1", "ready": True, "recipe_drift": False,
            "value": [{"path": PATH, "op": "<", "than": 0.5, "view": "reported"}],
        },
        "show": [PATH], "after": "a", "limit": 2,
    },
    ("@cell", "GetFleetHistory"): {
        "since": "2026-11-30T08:00:00Z", "until": "2027-11-30T08:00:00Z", "user": "u", "item": "payload_information",
        "method": "ApplyConfig", "plan": 1, "outcome": "applied", "cursor": "00000000000f", "limit": 2,
    },
    ("@all", "GetPlan"): {"plan": 1, "arm": "r1", "state": "applied", "after": "a", "limit": 2},
    ("@all", "ListPlans"): {"state": "ended", "kind": "group", "user": "u", "before": 9, "limit": 2},
    ("@all", "SteerPlan"): {"plan": 1, "action": "reverse", "reason": "x", "digest": "0123456789abcdef"},
    ("@cell", "Rollout"): {
        "method": "ApplyConfig", "params": {"items": ITEMS}, "on_failure": "pause", "canary": 1, "waves": [50, 100],
        "soak_ms": 0, "gates": ["fault"], "max_failed": 0, "pause_after": [0], "confirm_within_ms": 60_000,
        "row_within_ms": 1_000,
    },
    ("r1", "ExtendOverride"): {"rev": 2, "valid_for_ms": 100_000},
    ("@cell", "ExtendOverride"): {"plan": 1, "until": "2027-01-01T00:00:00Z"},
    ("r1", "EndOverride"): {"rev": 77, "keep": True, "direction": "tightening"},
    ("@cell", "EndOverride"): {"plan": 77, "keep": True},
}  # fmt: skip
"""Params that each method takes, with each of its keys."""


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


VALUES: Sequence[Any] = (
    None, True, -1, 0, 2**53 + 1, 2**63, 2**64 - 1, -(2**63), 1.5, 1e308, float("nan"), float("inf"), "",
    "ü\u202e\u0000", "y" * 5_000, "2026-13-45T99:99:99Z", "9999-12-31T23:59:59+14:00", [], {}, [None], ["a"] * 2_000,
    {f"k{number}": number for number in range(1_000)}, _nested(14), _nested(40), {"arm": "r1", "rev": 1, "items": {}},
)  # fmt: skip
"""What any key may hold instead."""
ONLY: Mapping[str, Sequence[Any]] = {
    "json": (10**25, -(10**30)),
    "protobuf": (10**25,),
    "msgpack": (b"\x00\xff", msgpack.Timestamp(1, 2), msgpack.ExtType(5, b"abc")),
}
"""What only one of the codecs can say."""


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in a document."""
    yield before
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in pairs:
        yield from places(part, (*before, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A document with another value at a path, or none."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1 and new is ABSENT:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


def wrong_params(good: Document, codec: str) -> Iterator[Any]:
    """Params that are wrong in one place each, as far as that is wrong there."""
    for path in places(good):
        for value in (*VALUES, *ONLY[codec]):
            yield changed(good, path, value)
        if path:
            yield changed(good, path, ABSENT)
        yield changed(good, path, {"zz": 1})


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def field(number: int, wire: int, body: bytes) -> bytes:
    """One field as it stands in a message."""
    return varint(number << 3 | wire) + body


def chunk(number: int, body: bytes) -> bytes:
    """One field that has a length."""
    return field(number, 2, varint(len(body)) + body)


def encoded(codec: str, request_id: str, params: Any, *, dry_run: bool = False) -> bytes | None:
    """A request; None where this codec cannot say it."""
    options = {"dry_run": True} if dry_run else {}
    try:
        if codec == "json":
            return json.dumps({"id": request_id, "params": params, **options}).encode()
        if codec == "msgpack":
            packed: bytes = msgpack.packb({"id": request_id, "params": params, **options})
            return packed
        message = chunk(1, request_id.encode()) + chunk(2, json.dumps(params).encode())
        return message + field(4, 0, b"\1") if dry_run else message
    except (OverflowError, ValueError, TypeError):
        return None


def huge(codec: str, size: int) -> bytes:
    """A request with a text of so many bytes."""
    text = b"x" * size
    if codec == "json":
        return b'{"id":"huge","params":{"name":"' + text + b'"}}'
    if codec == "msgpack":
        return b"\x82\xa2id\xa4huge\xa6params\x81\xa4name\xdb" + struct.pack(">I", size) + text
    return chunk(1, b"huge") + chunk(2, b'{"name":"' + text + b'"}')


class Sent(NamedTuple):
    """A request as it is published."""

    target: str
    method: str
    codec: str
    payload: bytes


class Stranger:
    """A connection on a client library alone; a context manager. Replies are told apart by their Correlation Data."""

    def __init__(self, port: int, root: str) -> None:
        self._root, self._numbers = root, itertools.count(1)
        self._replies: queue.Queue[paho.MQTTMessage] = queue.Queue()
        self._client = paho.Client(paho.CallbackAPIVersion.VERSION2, "stranger", protocol=paho.MQTTv5)  # type: ignore[attr-defined]
        self._served = threading.Event()
        self._client.on_message = self._take
        self._client.connect("127.0.0.1", port)

    def __enter__(self) -> Self:
        """Begin, once the service takes requests."""
        self._client.loop_start()
        self._client.subscribe([(f"{self._root}/res/mallory/m1/+", 1), (f"{self._root}/svc/+", 1)])
        if not self._served.wait(PATIENCE_S):
            raise TimeoutError("the service does not take requests")
        return self

    def _take(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        if "/svc/" not in message.topic:
            self._replies.put(message)
        elif json.loads(message.payload or b"{}").get("state") == "online":
            self._served.set()

    def __exit__(self, *_: object) -> None:
        """End."""
        self._client.disconnect()
        self._client.loop_stop()

    def ask(self, requests: Sequence[Sent]) -> list[Document]:
        """The reply to each, in their order; some are under way at once.

        One that is refused for its rate is sent again when that is said to do. Raises queue.Empty where one is missing.
        """
        open_: dict[bytes, int] = {}
        found: dict[int, Document] = {}
        left = iter(enumerate(requests))
        while len(found) < len(requests):
            for place, sent in itertools.islice(left, IN_FLIGHT - len(open_)):
                open_[self._publish(sent)] = place
            message = self._replies.get(timeout=PATIENCE_S)
            place = open_.pop(bytes(message.properties.CorrelationData))  # type: ignore[union-attr]
            reply = decode_reply(requests[place].codec, bytes(message.payload))
            if not reply["ok"] and reply["error"]["kind"] == "rate_limited":
                time.sleep(reply["error"]["retry_after_ms"] / 1_000)  # as it is asked for
                open_[self._publish(requests[place])] = place
            else:
                found[place] = reply
        return [found[place] for place in range(len(requests))]

    def _publish(self, sent: Sent) -> bytes:
        mark = next(self._numbers).to_bytes(8)
        properties: Any = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.ContentType = CONTENT_TYPES[sent.codec]
        properties.ResponseTopic = f"{self._root}/res/mallory/m1/in"
        properties.CorrelationData = mark
        topic = f"{self._root}/req/mallory/m1/{sent.target}/{sent.method}"
        self._client.publish(topic, sent.payload, 1, properties=properties)
        return mark

    def call(self, target: str, method: str, params: Document, **more: Any) -> Document:
        """Ask something that is right."""
        request = {"id": f"c{next(self._numbers)}", "params": params, **more}
        return self.ask([Sent(target, method, "json", json.dumps(request).encode())])[0]


PYTHON = re.compile(r"\b(None|True|False|NoneType|Traceback|strict_map_key)\b|<class|object at 0x|Error\(")
"""What no answer may say."""
