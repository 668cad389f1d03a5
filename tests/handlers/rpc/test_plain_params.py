import json
from typing import Any

import pytest

from handlers.rpc.plain_params import integer, known_only, plain_params, quoted, text
from schema.errors import BrokerError
from schema.messages import Empty
from tests.handlers.builders import request


def test_absent_params_are_empty() -> None:
    assert plain_params(request("WhoAmI", Empty())) == {}
    assert plain_params(request("WhoAmI", {"a": 1})) == {"a": 1}


def test_an_unknown_key_is_named_with_the_known_ones() -> None:
    known_only({"limit": 1}, ("limit", "item"))
    for names, known in ((("limit", "item"), "limit, item"), ((), "none")):
        with pytest.raises(BrokerError) as caught:
            known_only({"lim" * 40: 1}, names)
        assert caught.value.kind == "unknown_field"
        assert f"known: {known}" in caught.value.message
        assert len(caught.value.message) < 120


def test_an_absent_key_takes_its_default() -> None:
    assert integer({}, "limit", 50, 500) == 50
    assert text({}, "item") == ""
    assert text({}, "item", "all") == "all"


@pytest.mark.parametrize("value", [1, 7, 500])
def test_both_bounds_of_an_integer_are_inclusive(value: int) -> None:
    assert integer({"limit": value}, "limit", 50, 500, lowest=1) == value


@pytest.mark.parametrize(("value", "name"), [(501, "VALUE_IS_ABOVE_MAXIMUM"), (0, "VALUE_IS_BELOW_MINIMUM")])
def test_beyond_its_bounds_an_integer_is_out_of_limits(value: int, name: str) -> None:
    with pytest.raises(BrokerError) as caught:
        integer({"limit": value}, "limit", 50, 500, lowest=1)
    assert (caught.value.kind, caught.value.name) == ("out_of_limits", name)
    assert str(value) in caught.value.message


@pytest.mark.parametrize("value", [1.0, True, "1", None, [1], {"a": 1}])
def test_only_an_integer_is_an_integer(value: Any) -> None:
    with pytest.raises(BrokerError) as caught:
        integer({"limit": value}, "limit", 50, 500)
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize("value", [1, True, None, ["a"], b"a"])
def test_only_a_text_is_a_text(value: Any) -> None:
    assert text({"item": "gravity_vector"}, "item") == "gravity_vector"
    with pytest.raises(BrokerError) as caught:
        text({"item": value}, "item")
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        ([None, 1.5, "ü"], '[null, 1.5, "ü"]'),
        ({"a": False}, '{"a": false}'),
        ("fast", "'fast'"),
        (b"ab", "\"b'ab'\""),
        (10**25, str(10**25)),
        ("x" * 200, repr("x" * 60)),
        ([1] * 200, json.dumps([1] * 200)[:60]),
    ],
)
def test_a_wrong_value_is_shown_as_it_was_sent(value: Any, shown: str) -> None:
    assert quoted(value) == shown
