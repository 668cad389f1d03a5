"""Strangers who send every wrong kind of params and options to the methods of fleets, in three codecs.

Whatever comes, each request has a typed answer in plain words, what is refused changes nothing, nothing fails within,
and memory stays.
"""

import json
import random
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgpack
import pytest

from schema.errors import ERRORS
from tests.journey.fleet.strangers import (
    ITEMS,
    METHODS,
    PYTHON,
    Document,
    Sent,
    Stranger,
    chunk,
    encoded,
    field,
    huge,
    varint,
    wrong_params,
)
from tests.journey.forms import CONTENT_TYPES
from tests.journey.processes import ServiceProcess
from tests.mosquitto import Mosquitto
from tests.stored import as_started

CODECS = tuple(CONTENT_TYPES)
SOME = 25
"""So many of the wrong params of each method are sent in each codec."""
SHAPES = ("malformed", "unknown_field", "unknown_enum", "not_finite")
"""Kinds that say what is wrong with the form of a request."""
NAMED = re.compile(r"(r\d: )?(params|the payload)\b")
"""How answers begin that say where it is wrong; that of a row with its arm."""
MEMORY_KIB = 60 * 1024
"""What memory may grow by, whatever is sent."""


_BOOKS = """
SELECT sum(rev), sum(cmd_seq), (SELECT count(*) FROM recipe), (SELECT count(*) FROM override) FROM arm
"""


class Plant(NamedTuple):
    """A service of three arms in a group, and a stranger to it."""

    process: ServiceProcess
    stranger: Stranger

    def books(self) -> list[int]:
        """What a change leaves in the store: revisions, commands, recipes, overrides; a refused plan is none."""
        with closing(as_started(self.process.data / "store.sqlite3")) as database:
            row = database.execute(_BOOKS).fetchone()
        return [int(value) for value in row]

    @property
    def memory_kib(self) -> int:
        """What the service has resident."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    def refused(self, requests: list[Sent]) -> list[Document]:
        """Send what has to be refused; the errors. Nothing may have changed."""
        before = self.books()
        replies = self.stranger.ask(requests)
        self.check(requests, replies)
        taken = [sent for sent, reply in zip(requests, replies, strict=True) if reply["ok"]]
        assert taken == []
        assert self.books() == before
        return [reply["error"] for reply in replies]

    def check(self, requests: list[Sent], replies: list[Document]) -> None:
        """Every answer is typed and in plain words, and the service lives."""
        for sent, reply in zip(requests, replies, strict=True):
            if not reply["ok"]:
                error = reply["error"]
                assert error["kind"] in ERRORS, (sent, error)
                assert error["kind"] != "internal", (sent, error)
                assert not PYTHON.search(error["message"]), (sent, error)
                assert len(error["message"]) < 2_000, (sent, error)
        assert self.process.returncode is None
        assert "Traceback" not in self.process.log


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    """One plant for all; it is to live until the end."""
    folder = tmp_path_factory.mktemp("strangers")
    server = Mosquitto(folder).start()
    process = ServiceProcess(server, folder, "own", ["r1", "r2", "r3"], more="rate = 0\n")
    text = process.config.read_text().replace('model = "gen3_7dof"\n', 'model = "gen3_7dof"\ngroups = ["cell"]\n')
    process.config.write_text(text)
    process.start()
    try:
        with Stranger(server.port, process.root) as stranger:
            found = Plant(process, stranger)
            assert stranger.call("@all", "PutRecipe", {"name": "weld", "items": ITEMS})["ok"]
            assert stranger.call("@cell", "ApplyConfig", {"items": ITEMS}, valid_for_ms=86_400_000)["ok"]
            yield found
            assert process.returncode is None
    finally:
        process.kill()
        server.stop()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("target", "method"), METHODS)
def test_wrong_params_are_refused_by_name_and_change_nothing(
    plant: Plant, target: str, method: str, codec: str
) -> None:
    good = METHODS[target, method]
    wrong = list(wrong_params(good, codec))
    chosen = random.Random(f"{target} {method} {codec}").sample(wrong, min(SOME, len(wrong)))  # noqa: S311 - seeded
    before, size = plant.books(), plant.memory_kib
    tried = [
        (params, Sent(target, method, codec, payload))
        for number, params in enumerate(chosen)
        if (payload := encoded(codec, f"{target}-{method}-{codec}-{number}".replace("@", ""), params, dry_run=True))
    ]
    replies = plant.stranger.ask([sent for _, sent in tried])
    plant.check([sent for _, sent in tried], replies)
    assert plant.books() == before, "a dry run changed something"
    refusals = 0
    again: list[Sent] = []
    for (params, _), reply in zip(tried, replies, strict=True):
        if not reply["ok"] and reply["error"]["kind"] in SHAPES:
            refusals += 1
            error = reply["error"]
            assert NAMED.match(error["message"]), (params, error)
            payload = encoded(codec, f"x-{refusals}-{method}-{codec}-{target}".replace("@", ""), params)
            again.append(Sent(target, method, codec, payload or b""))
    assert refusals > len(tried) / 4
    busy = {"held"} if method == "Rollout" else set()  # while another of them is looked at
    assert {error["kind"] for error in plant.refused(again)} <= {*SHAPES, *busy}
    assert plant.memory_kib - size < MEMORY_KIB


OPTIONS: list[tuple[Document, str]] = [
    ({"group": {"all_or_nothing": 1}}, "group.all_or_nothing"),
    ({"group": {"away": "maybe"}}, "group.away"),
    ({"group": {"away": None}}, "group.away"),
    ({"group": {"only": "r1"}}, "group.only"),
    ({"group": {"only": [1]}}, "group.only"),
    ({"group": {"only": []}}, "group.only"),
    ({"group": {"only": ["r1", "r1"]}}, "group.only"),
    ({"group": {"only": ["r1"] * 1_001}}, "group.only"),
    ({"group": {"only": [f"x{number}" for number in range(1_000)]}}, "group.only"),
    ({"group": {"parallel": 0}}, "group.parallel"),
    ({"group": {"parallel": 2**64 - 1}}, "group.parallel"),
    ({"group": {"parallel": True}}, "group.parallel"),
    ({"group": {"fast": 1}}, "fast"),
    ({"group": []}, "group"),
    ({"when": "later"}, "when"),
    ({"when": 1}, "when"),
    ({"until": "yesterday"}, "until"),
    ({"until": 2**64 - 1}, "until"),
    ({"until": "2020-01-01T00:00:00Z"}, "until"),
    ({"until": None}, "until"),
    ({"valid_for_ms": 999}, "valid_for_ms"),
    ({"valid_for_ms": 2**64 - 1}, "valid_for_ms"),
    ({"valid_for_ms": 1.5}, "valid_for_ms"),
    ({"ttl_ms": 2**63}, "ttl_ms"),
    ({"if_rev": 1}, "if_rev"),
    ({"view": "grounds"}, "view"),
]


@pytest.mark.parametrize("codec", ["json", "msgpack"])
@pytest.mark.parametrize(("target", "method"), [("@cell", "ApplyRecipe"), ("@cell", "Rollout")])
def test_wrong_options_are_refused_by_name(plant: Plant, target: str, method: str, codec: str) -> None:
    params, requests = METHODS[target, method], list[Sent]()
    for number, (options, _) in enumerate(OPTIONS):
        document = {"id": f"o-{method}-{codec}-{number}", "params": params, **options}
        body = json.dumps(document).encode() if codec == "json" else msgpack.packb(document)
        requests.append(Sent(target, method, codec, body))
    errors = plant.refused(requests)
    for (options, name), error in zip(OPTIONS, errors, strict=True):
        assert name in error["message"], (options, error)


ALL = (1 << 64) - 1
FIELDS = {
    "when: an unknown number": field(13, 0, varint(7)),
    "when: of 64 bits": field(13, 0, varint(ALL)),
    "when: a text": chunk(13, b"idle"),
    "until_ms: negative": field(12, 0, varint(ALL)),
    "until_ms: past": field(12, 0, varint(1)),
    "until_ms: far": field(12, 0, varint((1 << 63) - 1)),
    "valid_for_ms: short": field(8, 0, varint(999)),
    "valid_for_ms: long": field(8, 0, varint(2_592_000_001)),
    "group.away: an unknown number": chunk(14, field(2, 0, varint(9))),
    "group.away: of 64 bits": chunk(14, field(2, 0, varint(ALL))),
    "group.parallel: of 32 bits": chunk(14, field(4, 0, varint((1 << 32) - 1))),
    "group.only: no text": chunk(14, chunk(3, b"\xff\xfe")),
    "group.only: twice": chunk(14, chunk(3, b"r1") * 2),
    "group.only: many": chunk(14, chunk(3, b"r1") * 1_001),
    "group.only: strangers": chunk(14, chunk(3, b"r9")),
    "group: an unknown field": chunk(14, field(9, 0, b"\1")),
    "group: no message": chunk(14, b"\xff\xff\xff"),
    "group: a number": field(14, 0, b"\1"),
    "an unknown field": field(15, 0, b"\1"),
    "field 0": b"\x02\x00",
    "a group of the old kind": b"\x7b\x7c",
    "cut": b"\x72\x7f",
    "a number without end": b"\x68" + b"\x80" * 10 + b"\x01",
    "a length without end": b"\x72" + b"\xff" * 8 + b"\x7f",
    "view: an unknown number": field(11, 0, varint(9)),
    "reason: no text": chunk(9, b"\xff"),
}  # fmt: skip
TEXTS = {
    "no UTF-8": b"\xff\xfe{}",
    "no JSON": b"recipe=weld",
    "a list": b"[]",
    "null": b"null",
    "a key twice": b'{"recipe":"weld","recipe":"weld"}',
    "NaN": b'{"recipe":"weld","version":NaN}',
    "too large": b'{"recipe":"weld","version":1e999}',
    "many digits": b'{"recipe":"weld","version":' + b"9" * 5_000 + b"}",
    "65 bits": b'{"recipe":"weld","version":18446744073709551616}',
    "deep lists": b'{"recipe":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "deep maps": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "half a character": b'{"recipe":"\\ud800"}',
    "more behind it": b'{"recipe":"weld"} x',
    "UTF-16": '{"recipe":"weld"}'.encode("utf-16"),
    "MessagePack": b"\x81\xa6recipe\xa4weld",
}
PACKED = {
    "a key twice": b"\x82\xa6recipe\xa4weld\xa6recipe\xa4weld",
    "a number as key": b"\x81\x01\x02",
    "nil as key": b"\x81\xc0\x02",
    "a list as key": b"\x81\x91\x01\x02",
    "a map that claims much": b"\xdf\xff\xff\xff\xff",
    "a list that claims much": b"\x81\xa5items\xdd\xff\xff\xff\xff",
    "a text that claims much": b"\x81\xa6recipe\xdb\xff\xff\xff\xff",
    "bytes": b"\x81\xa6recipe\xc4\x02ab",
    "an extension": b"\x81\xa6recipe\xd4\x05a",
    "a timestamp": b"\x81\xa6recipe\xd6\xff\0\0\0\1",
    "NaN": b"\x82\xa6recipe\xa4weld\xa7version\xcb\x7f\xf8\0\0\0\0\0\0",
    "64 bits": b"\x82\xa6recipe\xa4weld\xa7version\xcf" + b"\xff" * 8,
    "no UTF-8": b"\x81\xa6recipe\xa2\xff\xfe",
    "what is never used": b"\xc1",
    "deep lists": b"\x81\xa5items" + b"\x91" * 3_000 + b"\x01",
    "deep maps": b"\x81\xa1a" * 600 + b"\x01",
    "cut": b"\x82\xa6recipe\xa4we",
    "more behind it": b"\x80\x01",
    "a long list": b"\x81\xa5items\xdd\0\0\x20\x01" + b"\1" * 8_193,
}
BODIES: dict[str, tuple[str, bytes]] = {
    **{f"protobuf, {name}": ("protobuf", chunk(1, b"p") + chunk(2, b"{}") + more) for name, more in FIELDS.items()},
    **{f"params in protobuf, {name}": ("protobuf", chunk(1, b"p") + chunk(2, body)) for name, body in TEXTS.items()},
    **{f"JSON, {name}": ("json", b'{"id":"p","params":' + body + b"}") for name, body in TEXTS.items()},
    **{f"MessagePack, {name}": ("msgpack", b"\x82\xa2id\xa1p\xa6params" + body) for name, body in PACKED.items()},
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_no_client_library_writes_are_refused(plant: Plant, name: str) -> None:
    codec, body = BODIES[name]
    targets = (("@cell", "ApplyRecipe"), ("r1", "ApplyConfig"), ("@cell", "Rollout"), ("@all", "PutRecipe"))
    plant.refused([Sent(target, method, codec, body) for target, method in targets])


@pytest.mark.parametrize("codec", CODECS)
def test_bodies_of_10_mb_are_refused_and_forgotten(plant: Plant, codec: str) -> None:
    size = plant.memory_kib
    body = huge(codec, 10 * 1024 * 1024)
    targets = (("@all", "PutRecipe"), ("@cell", "ApplyConfig"), ("@cell", "FindArms"), ("r1", "Diff"))
    for _ in range(4):
        for target, method in targets:
            (error,) = plant.refused([Sent(target, method, codec, body)])
            assert (error["kind"], str(65_536) in error["message"]) == ("too_large", True)
    for _ in range(3):
        plant.stranger.call("@all", "ListPlans", {})
    assert plant.memory_kib - size < MEMORY_KIB
