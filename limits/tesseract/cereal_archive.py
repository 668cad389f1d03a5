"""JointSafety in the archives of cereal, as tesseract writes them since it left boost: binary, JSON and XML.

Every form holds the four numbers in the order upper, lower, k_position, k_velocity, and no version.
"""

import json
import re
import struct
from typing import Any

import msgspec

from limits.errors import LimitsError
from limits.formats.numbers import archive_number
from limits.formats.xml import parse_xml
from limits.tesseract.joint_safety import JointSafety, check_joint_safety

ARCHIVE_NAME = "archive_type"
"""Name tesseract gives the outermost value."""
MAX_BYTES = 64 * 1024
"""Largest archive that is read."""

FIELDS = JointSafety.__struct_fields__
_BINARY = struct.Struct("<4d")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def encode_cereal_binary(safety: JointSafety) -> bytes:
    """Encode as 32 bytes: four little-endian doubles, no header (the native form on the machines in use)."""
    return _BINARY.pack(*msgspec.structs.astuple(safety))


def decode_cereal_binary(data: bytes, *, file: str | None = None, strict: bool = True) -> JointSafety:
    """Decode 32 bytes.

    Raises:
        LimitsError: another length or, if `strict`, a record that `check_joint_safety` refuses.
    """
    if len(data) != _BINARY.size:
        raise LimitsError("is no archive", file=file, key="bytes", value=len(data), bound=_BINARY.size)
    return _checked(dict(zip(FIELDS, _BINARY.unpack(data), strict=True)), file, strict=strict)


def encode_cereal_json(safety: JointSafety, name: str = ARCHIVE_NAME) -> str:
    """Encode as JSON; NaN and infinities become `NaN` and `Infinity` as cereal writes and reads them."""
    return json.dumps({_checked_name(name): msgspec.structs.asdict(safety)}, indent=4)


def decode_cereal_json(
    text: str, name: str = ARCHIVE_NAME, *, file: str | None = None, strict: bool = True
) -> JointSafety:
    """Decode JSON; the order of the fields is free.

    Raises:
        LimitsError: malformed, other names or, if `strict`, a record that `check_joint_safety` refuses.
    """
    check_size(text, file)
    try:
        document = json.loads(text, object_pairs_hook=_refuse_twice)
    except (ValueError, RecursionError) as error:
        raise LimitsError(f"is no JSON archive: {error}", file=file) from error
    if not isinstance(document, dict) or list(document) != [name] or not isinstance(document[name], dict):
        raise LimitsError("is no JSON archive: it must hold one object of this name", file=file, key=name)
    values = document[name]
    check_fields(list(values), file, ordered=False)
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise LimitsError("is no number", file=file, key=key, value=value)
    try:
        return _checked({key: float(value) for key, value in values.items()}, file, strict=strict)
    except OverflowError as error:
        raise LimitsError(f"is no double: {error}", file=file, key=name) from error


def encode_cereal_xml(safety: JointSafety, name: str = ARCHIVE_NAME) -> str:
    """Encode as XML with 17 significant digits, which give the same doubles back."""
    outer = _checked_name(name)
    fields = msgspec.structs.asdict(safety).items()
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        "<cereal>",
        f"\t<{outer}>",
        *(f"\t\t<{key}>{value:.17g}</{key}>" for key, value in fields),
        f"\t</{outer}>",
        "</cereal>",
    ]
    return "\n".join(lines) + "\n\n"


def decode_cereal_xml(
    text: str | bytes, name: str = ARCHIVE_NAME, *, file: str | None = None, strict: bool = True
) -> JointSafety:
    """Decode XML; the order of the fields is free.

    Raises:
        LimitsError: malformed, other names or, if `strict`, a record that `check_joint_safety` refuses.
    """
    check_size(text, file)
    root = parse_xml(text, file)
    if root.tag != "cereal" or [child.tag for child in root] != [name]:
        raise LimitsError("is no cereal archive: it must hold one element of this name", file=file, key=name)
    texts = [(field.tag, field.text or "") for field in root[0]]
    return record_of_texts(texts, file, ordered=False, strict=strict)


def record_of_texts(texts: list[tuple[str, str]], file: str | None, *, ordered: bool, strict: bool) -> JointSafety:
    """The record of an XML archive's fields, each a name and a number as text.

    Raises:
        LimitsError: other names, text that is no number or, if `strict`, a record that `check_joint_safety` refuses.
    """
    check_fields([key for key, _ in texts], file, ordered=ordered)
    values = {}
    for key, text in texts:
        value = archive_number(text.strip())
        if value is None:
            raise LimitsError("is no number", file=file, key=key, value=text)
        values[key] = value
    return _checked(values, file, strict=strict)


def check_size(text: str | bytes, file: str | None) -> None:
    """Refuse an archive that is far too large for four numbers.

    Raises:
        LimitsError: more than `MAX_BYTES`.
    """
    if len(text) > MAX_BYTES:
        raise LimitsError("the archive is too large", file=file, key="bytes", value=len(text), bound=MAX_BYTES)


def check_fields(names: list[str], file: str | None, *, ordered: bool) -> None:
    """Refuse other fields than the four.

    Raises:
        LimitsError: a field is missing, unknown, twice there or, if `ordered`, out of order.
    """
    found = names if ordered else sorted(names)
    wanted = list(FIELDS) if ordered else sorted(FIELDS)
    if found != wanted:
        raise LimitsError("the fields are not those of JointSafety", file=file, value=names, bound=FIELDS)


def _checked(values: dict[str, float], file: str | None, *, strict: bool) -> JointSafety:
    """The record, checked if `strict`."""
    safety = JointSafety(**values)
    if strict:
        check_joint_safety(safety, file=file)
    return safety


def _checked_name(name: str) -> str:
    """A name that may stand in XML."""
    if _NAME.fullmatch(name) is None:
        raise LimitsError("is no name of an archive", key="name", value=name)
    return name


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are unique."""
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a name is there twice")
    return document
