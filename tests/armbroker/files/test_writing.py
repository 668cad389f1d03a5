import json
import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from armbroker.files.writing import json_text, toml_text

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
SCALARS = st.booleans() | TEXTS | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = SCALARS | st.lists(SCALARS, max_size=3)
TABLES = st.recursive(LEAVES, lambda inner: st.dictionaries(TEXTS, inner, max_size=3))
DOCUMENTS = st.dictionaries(TEXTS, TABLES, max_size=4)


@given(DOCUMENTS)
def test_what_is_written_is_read_again_and_written_alike(document: dict[str, Any]) -> None:
    for write, read in ((toml_text, tomllib.loads), (json_text, json.loads)):
        text = write(document)
        again = read(text)
        assert again == document
        assert write(again) == text


def test_keys_are_sorted_and_numbers_short() -> None:
    document = {"b": {"z": 2.0, "a": [1e-7, 0.1, -0.0, True]}, "a": "x\x7f", "e": {}, "c.d": {"f": {"g": 1e21}}}
    assert toml_text(document) == (
        'a = "x\\u007f"\n\n[b]\na = [1e-7, 0.1, 0, true]\nz = 2\n\n["c.d".f]\ng = 1e+21\n\n[e]\n'
    )
    assert json_text({"b": {"a": [1.0, 2.5]}, "a": {}}) == '{\n  "a": {},\n  "b": {\n    "a": [1, 2.5]\n  }\n}\n'
