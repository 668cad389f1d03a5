"""XML of a plain kind: no document type, no entities of its own, bounded in size and depth."""

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from limits.errors import LimitsError

MAX_BYTES = 16 * 1024 * 1024
"""Largest document that is read."""
MAX_DEPTH = 64
"""Deepest nesting of elements that is read."""


def parse_xml(text: str | bytes, file: str | None) -> Element:
    """Parse a document and return its root element; prefixes stay in the names, comments are left out.

    Raises:
        LimitsError: not well-formed, too large, too deep, or with a document type (hence with entities of its own).
    """
    data = _encoded(text, file)
    if len(data) > MAX_BYTES:
        raise LimitsError("the document is too large", file=file, key="bytes", value=len(data), bound=MAX_BYTES)
    builder = TreeBuilder()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise LimitsError("elements are nested too deeply", file=file, key=tag, value=depth, bound=MAX_DEPTH)
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse_document_type(name: str, *_: object) -> None:
        raise LimitsError("a document type (DOCTYPE) is not read", file=file, key=name)

    parser = expat.ParserCreate(encoding="utf-8" if isinstance(text, str) else None)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse_document_type
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data[blanks_before_declaration(data) :], True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise LimitsError(f"not well-formed XML: {error}", file=file) from error
    return builder.close()


def blanks_before_declaration(data: bytes) -> int:
    """How many blanks stand before an XML declaration, where XML allows none and readers of URDF do not mind."""
    blanks = len(data) - len(data.lstrip(b" \t\r\n"))
    return blanks if data.startswith(b"<?xml", blanks) else 0


def _encoded(text: str | bytes, file: str | None) -> bytes:
    """The bytes of a document."""
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise LimitsError(f"not well-formed XML: {error.reason}", file=file) from error
