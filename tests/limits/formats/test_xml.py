import pytest

from limits.errors import LimitsError
from limits.formats.xml import MAX_BYTES, MAX_DEPTH, parse_xml

BOMB = (
    '<!DOCTYPE robot [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<robot name="&b;"><link name="a"/></robot>'
)


def test_text_and_bytes_are_read() -> None:
    for document in ("<a b='1'><c>t\u00e9xt</c><!-- no --></a>", "<a b='1'><c>t\u00e9xt</c></a>".encode()):
        root = parse_xml(document, "f")
        assert (root.tag, root.attrib, root[0].tag, root[0].text) == ("a", {"b": "1"}, "c", "t\u00e9xt")


def test_an_encoding_declared_in_text_does_not_matter() -> None:
    assert parse_xml('<?xml version="1.0" encoding="utf-16"?><a>\u00e9</a>', None).text == "\u00e9"


def test_prefixes_stay_in_names() -> None:
    assert [child.tag for child in parse_xml('<robot><xacro:if value="1"/></robot>', None)] == ["xacro:if"]


@pytest.mark.parametrize("document", [BOMB, "<!DOCTYPE a><a/>", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'])
def test_a_document_type_is_refused(document: str) -> None:
    with pytest.raises(LimitsError, match="DOCTYPE") as caught:
        parse_xml(document, "bomb.urdf")
    assert caught.value.file == "bomb.urdf"


@pytest.mark.parametrize(
    "document",
    [
        "",
        "<a>",
        "<a/><b/>",
        "<a b='1' b='2'/>",
        "<a>&x;</a>",
        b"\xff\xfe\x00",
        "\ud800",
        b"<?xml version='1.0' encoding='nope'?><a/>",
    ],
)
def test_malformed_documents_are_refused(document: str | bytes) -> None:
    with pytest.raises(LimitsError, match="not well-formed"):
        parse_xml(document, "f")


def test_depth_is_bounded() -> None:
    assert parse_xml("<a>" * MAX_DEPTH + "</a>" * MAX_DEPTH, None).tag == "a"
    with pytest.raises(LimitsError) as caught:
        parse_xml("<a>" * (MAX_DEPTH + 1), None)
    assert (caught.value.value, caught.value.bound) == (MAX_DEPTH + 1, MAX_DEPTH)


def test_size_is_bounded() -> None:
    with pytest.raises(LimitsError, match="too large") as caught:
        parse_xml(b" " * (MAX_BYTES + 1), None)
    assert caught.value.bound == MAX_BYTES
