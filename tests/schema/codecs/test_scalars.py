import math
from typing import Any

import pytest

from schema.codecs.faults import FaultError
from schema.codecs.scalars import KEYS, READERS
from schema.fields import RANGES, Kind

INTEGERS = tuple(RANGES)
WRONG: dict[Kind, tuple[object, ...]] = {
    Kind.DOUBLE: ("1", True, None, b"1", [1.0], {}),
    Kind.FLOAT32: ("1", True, None, b"1", [1.0], {}),
    Kind.BOOL: (1, 0, "true", None, 1.0),
    Kind.STRING: (1, True, None, b"x", ["x"]),
    **{kind: ("1", True, 1.0, None, b"1", [1]) for kind in INTEGERS},
}


def test_every_scalar_kind_has_a_reader() -> None:
    assert set(READERS) == set(Kind) - {Kind.MESSAGE, Kind.ENUM, Kind.BYTES}
    assert set(KEYS) == {Kind.STRING, *RANGES}


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in WRONG.items() for value in values])
def test_another_type_is_malformed(kind: Kind, value: object) -> None:
    with pytest.raises(FaultError) as caught:
        READERS[kind](value)
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Kind.DOUBLE, 3, 3.0),
        (Kind.DOUBLE, 0.1, 0.1),
        (Kind.FLOAT32, 3, 3.0),
        (Kind.FLOAT32, 0.10000000149011612, 0.1),
        (Kind.BOOL, False, False),
        (Kind.STRING, "ä", "ä"),
        (Kind.UINT32, 7, 7),
    ],
)
def test_good_values(kind: Kind, value: object, expected: object) -> None:
    read = READERS[kind](value)
    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize("value", [-0.0, 0, -1e-46])
def test_a_float32_has_no_negative_zero(value: float) -> None:
    assert math.copysign(1.0, READERS[Kind.FLOAT32](value)) == 1.0


@pytest.mark.parametrize("kind", [Kind.DOUBLE, Kind.FLOAT32])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_not_finite(kind: Kind, value: float) -> None:
    with pytest.raises(FaultError) as caught:
        READERS[kind](value)
    assert caught.value.kind == "not_finite"


@pytest.mark.parametrize("value", [3.5e38, -1e300, 10**39])
def test_what_overflows_a_float32_is_not_finite(value: float) -> None:
    with pytest.raises(FaultError) as caught:
        READERS[Kind.FLOAT32](value)
    assert (caught.value.kind, READERS[Kind.DOUBLE](value)) == ("not_finite", float(value))


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_keep_to_their_range(kind: Kind) -> None:
    low, high = RANGES[kind]
    assert (READERS[kind](low), READERS[kind](high)) == (low, high)
    for beyond in (low - 1, high + 1):
        with pytest.raises(FaultError) as caught:
            READERS[kind](beyond)
        assert (caught.value.kind, caught.value.text) == ("malformed", f"{beyond} is not between {low} and {high}")


@pytest.mark.parametrize(("kind", "key", "value"), [(Kind.STRING, "a", "a"), (Kind.INT32, "-12", -12)])
def test_keys(kind: Kind, key: str, value: Any) -> None:
    assert KEYS[kind](key) == value


@pytest.mark.parametrize("key", ["", "01", "-0", "+1", "1.0", " 1", "٣", "2147483648", "9" * 5000])
def test_keys_that_are_no_integers_of_their_kind(key: str) -> None:
    with pytest.raises(FaultError) as caught:
        KEYS[Kind.INT32](key)
    assert caught.value.kind == "malformed"
