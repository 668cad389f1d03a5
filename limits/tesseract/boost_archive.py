"""JointSafety in the XML archive of boost serialization, as tesseract wrote it before cereal: class version 0."""

import math
import re

import msgspec

from limits.errors import LimitsError
from limits.formats.xml import parse_xml
from limits.tesseract.cereal_archive import ARCHIVE_NAME, check_size, record_of_texts
from limits.tesseract.joint_safety import JointSafety

SIGNATURE = "serialization::archive"
LIBRARY_VERSION = 17
"""Archive version that is written: boost 1.71's; a reader refuses versions above its own, older ones it reads."""
CLASS_VERSION = "0"

_DOCUMENT_TYPE = re.compile(r"(\s*<\?xml[^>]*\?>)?\s*<!DOCTYPE boost_serialization>")
"""The bare document type of every boost archive; it declares nothing."""


def encode_boost_xml(safety: JointSafety) -> str:
    """Encode as name-value pairs below `archive_type`, each with 17 decimals; the class is tracked, as it is exported.

    Raises:
        LimitsError: a number that is not finite, which boost would not read back.
    """
    fields = msgspec.structs.asdict(safety)
    for key, value in fields.items():
        if not math.isfinite(value):
            raise LimitsError("is not finite; boost would not read it back", key=key, value=value)
    lines = [
        '<?xml version="1.0" encoding="UTF-8" standalone="yes" ?>',
        "<!DOCTYPE boost_serialization>",
        f'<boost_serialization signature="{SIGNATURE}" version="{LIBRARY_VERSION}">',
        f'<{ARCHIVE_NAME} class_id="0" tracking_level="1" version="{CLASS_VERSION}" object_id="_0">',
        *(f"\t<{key}>{value:.17e}</{key}>" for key, value in fields.items()),
        f"</{ARCHIVE_NAME}>",
        "</boost_serialization>",
    ]
    return "\n".join(lines) + "\n\n"


def decode_boost_xml(text: str, *, file: str | None = None, strict: bool = True) -> JointSafety:
    """Decode an archive with or without tracking; the fields stand in the order of the class.

    Raises:
        LimitsError: malformed, another signature, class version or field or, if `strict`, a record that
            `check_joint_safety` refuses.
    """
    check_size(text, file)
    root = parse_xml(_without_document_type(text), file)
    if root.tag != "boost_serialization" or [child.tag for child in root] != [ARCHIVE_NAME]:
        raise LimitsError("is no boost archive: it must hold one element of this name", file=file, key=ARCHIVE_NAME)
    for element, key, wanted in ((root, "signature", SIGNATURE), (root[0], "version", CLASS_VERSION)):
        if element.get(key) != wanted:
            raise LimitsError("is not known", file=file, key=key, value=element.get(key), bound=wanted)
    texts = [(field.tag, field.text or "") for field in root[0]]
    return record_of_texts(texts, file, ordered=True, strict=strict)


def _without_document_type(text: str) -> str:
    """The text without boost's bare document type; any other one stays, to be refused."""
    match = _DOCUMENT_TYPE.match(text)
    return text if match is None else (match[1] or "") + text[match.end() :]
