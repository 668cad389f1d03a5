import enum

import msgspec
import pytest

from schema.fields import RANGES, Double, Field, Fixed32, Float32, Int32, Int64, Kind, UInt32, UInt64, fields_of


class Colour(enum.IntEnum):
    UNKNOWN = 0
    RED = 1


class Part(msgspec.Struct, frozen=True):
    number: UInt32 = 0


class Everything(msgspec.Struct, frozen=True):
    double: Double = 0.0
    single: Float32 = 0.0
    int32: Int32 = 0
    int64: Int64 = 0
    uint32: UInt32 = 0
    uint64: UInt64 = 0
    fixed32: Fixed32 = 0
    flag: bool = False
    text: str = ""
    data: bytes = b""
    colour: Colour = Colour.UNKNOWN
    colour_or_number: Colour | int = 0
    part: Part | None = None
    maybe: Double | None = None
    maybe_colour: Colour | int | None = None
    numbers: tuple[Double, ...] = ()
    parts: tuple[Part, ...] = ()
    by_name: dict[str, Part] = {}
    by_number: dict[Int32, Double] = {}


def plain(name: str, kind: Kind, cls: type | None = None) -> Field:
    return Field(name, kind, cls, repeated=False, optional=False, key=None)


def test_every_form_of_annotation() -> None:
    assert fields_of(Everything) == (
        plain("double", Kind.DOUBLE),
        plain("single", Kind.FLOAT32),
        plain("int32", Kind.INT32),
        plain("int64", Kind.INT64),
        plain("uint32", Kind.UINT32),
        plain("uint64", Kind.UINT64),
        plain("fixed32", Kind.FIXED32),
        plain("flag", Kind.BOOL),
        plain("text", Kind.STRING),
        plain("data", Kind.BYTES),
        plain("colour", Kind.ENUM, Colour),
        plain("colour_or_number", Kind.ENUM, Colour),
        plain("part", Kind.MESSAGE, Part)._replace(optional=True),
        plain("maybe", Kind.DOUBLE)._replace(optional=True),
        plain("maybe_colour", Kind.ENUM, Colour)._replace(optional=True),
        plain("numbers", Kind.DOUBLE)._replace(repeated=True),
        plain("parts", Kind.MESSAGE, Part)._replace(repeated=True),
        plain("by_name", Kind.MESSAGE, Part)._replace(repeated=True, key=Kind.STRING),
        plain("by_number", Kind.DOUBLE)._replace(repeated=True, key=Kind.INT32),
    )


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (Kind.INT32, -2147483648, 2147483647),
        (Kind.INT64, -9223372036854775808, 9223372036854775807),
        (Kind.UINT32, 0, 4294967295),
        (Kind.UINT64, 0, 18446744073709551615),
        (Kind.FIXED32, 0, 4294967295),
    ],
)
def test_ranges(kind: Kind, low: int, high: int) -> None:
    assert RANGES[kind] == (low, high)
