"""Lines of keys: the same keys as `tomllib`, on the lines where they stand."""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from broker.settings.lines import lines_of
from broker.settings.places import KeyPath
from tests.broker.settings.toml_texts import documents


def paths(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every table, key and element below a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, each in pairs:
        yield (*path, part), each
        yield from paths(each, (*path, part))


@settings(max_examples=100)
@given(documents())
def test_the_same_keys_as_tomllib_on_the_lines_where_they_stand(text: str) -> None:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AssertionError(text) from error
    found, known = lines_of(text), dict(paths(document))
    assert found.keys() == known.keys()
    rows = text.split("\n")
    for path, value in known.items():
        if isinstance(value, int) and value > 1_000_000:
            assert str(value) in rows[found[path] - 1]


TEXT = '''\
# a fleet
root = "x"
mqtt = { url = "u", "user" = """
[[arm]]
""" }
a.b."c.d" = 1
a.b.e = [
  1, # one
  [2, { f = 3 }],
]

[clients.'plc = 1']
clock = "none"

[[arm]]
id = "r1"
[arm.options]
host = "h"

[[arm]]
id = "r2"
site_caps = { velocity = [1, 2] }
[arm.checks]
loosest = "x"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("root",), 2),
        (("mqtt",), 3),
        (("mqtt", "user"), 3),
        (("a",), 6),
        (("a", "b", "c.d"), 6),
        (("a", "b", "e"), 7),
        (("a", "b", "e", 0), 8),
        (("a", "b", "e", 1, 1, "f"), 9),
        (("clients",), 12),
        (("clients", "plc = 1", "clock"), 13),
        (("arm",), 15),
        (("arm", 0), 15),
        (("arm", 0, "options", "host"), 18),
        (("arm", 1), 20),
        (("arm", 1, "id"), 21),
        (("arm", 1, "site_caps", "velocity", 1), 22),
        (("arm", 1, "checks"), 23),
        (("arm", 1, "checks", "loosest"), 24),
    ],
)
def test_where_keys_stand(path: KeyPath, line: int) -> None:
    assert lines_of(TEXT)[path] == line
    assert lines_of(TEXT.replace("\n", "\r\n"))[path] == line


def test_an_empty_text_has_no_keys() -> None:
    assert lines_of("") == {}
    assert lines_of("# nothing") == {}
