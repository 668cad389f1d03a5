import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from armbroker.files.json_lines import lines_of_json

TEXT = """{
  "a": 1, "b \\" {": [
    {"c": null,
     "c": "x, ]}"},
    -1.5e3
  ],

  "d": {}
}"""


def test_every_key_and_element_has_its_line() -> None:
    key = 'b " {'
    assert lines_of_json(TEXT) == {
        ("a",): 2, (key,): 2, (key, 0): 3, (key, 0, "c"): 3, (key, 1): 5, ("d",): 8,
    }  # fmt: skip
    assert lines_of_json("3") == lines_of_json(' "x" ') == lines_of_json("[]") == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return set().union(*({(*path, key)} | places(one, (*path, key)) for key, one in pairs))


@given(VALUES)
def test_no_place_is_missed(value: Any) -> None:
    for indent in (None, 2):
        assert lines_of_json(json.dumps(value, indent=indent)).keys() == places(value)
