import math
from typing import Any

import pytest

from schema.codecs.faults import FaultError
from schema.codecs.tree import DEPTH_LIMIT, check_tree


def nested(depth: int) -> Any:
    document: Any = 1
    for level in range(depth):
        document = [document] if level % 2 else {"a": document}
    return document


def refusal(document: object, *, finite: bool = False) -> tuple[str, str]:
    with pytest.raises(FaultError) as caught:
        check_tree(document, finite=finite)
    message = caught.value.as_refusal().message
    return caught.value.kind, message


def test_depth() -> None:
    check_tree(nested(DEPTH_LIMIT))
    kind, message = refusal(nested(DEPTH_LIMIT + 1))
    assert kind == "malformed"
    assert message.endswith("nested deeper than 16")


def test_a_lone_surrogate_is_refused_wherever_it_stands() -> None:
    check_tree({"ä": ["é", "\U0001f916"]})
    assert refusal({"a": [1, "x\ud800"]}) == ("malformed", "a[1]: a lone surrogate")
    assert refusal({"a": {"\udfff": 1}}) == ("malformed", 'a."\\udfff": a lone surrogate')


def test_numbers_and_types_only_when_told() -> None:
    document = {"a": [math.inf, b"x", None, True, 1, 0.5]}
    check_tree(document)
    assert refusal(document, finite=True) == ("not_finite", "a[0]: inf is not finite")
    document["a"][0] = 1.0
    kind, message = refusal(document, finite=True)
    assert (kind, message.partition(",")[0]) == ("malformed", "a[1]: binary data is given")
    document["a"][1] = "x"
    check_tree(document, finite=True)
