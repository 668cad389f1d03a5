import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.tesseract.cereal_archive import (
    MAX_BYTES,
    decode_cereal_binary,
    decode_cereal_json,
    decode_cereal_xml,
    encode_cereal_binary,
    encode_cereal_json,
    encode_cereal_xml,
)
from limits.tesseract.joint_safety import JointSafety

SAFETY = JointSafety(soft_upper_limit=0.1, soft_lower_limit=-0.0, k_position=1e20, k_velocity=5e-324)
SAFETIES = st.builds(JointSafety, **dict.fromkeys(JointSafety.__struct_fields__, st.floats(allow_nan=False)))
FIELDS = '"soft_upper_limit": 1, "soft_lower_limit": 0.5, "k_position": 2, "k_velocity": 3'
XML_FIELDS = (
    "<k_velocity> 3 </k_velocity><soft_upper_limit>1</soft_upper_limit>"
    "<soft_lower_limit>0.5</soft_lower_limit><k_position>2</k_position>"
)
READ = JointSafety(soft_upper_limit=1.0, soft_lower_limit=0.5, k_position=2.0, k_velocity=3.0)


@given(SAFETIES)
def test_every_number_comes_back_in_every_form(safety: JointSafety) -> None:
    wanted = encode_cereal_binary(safety)
    for found in (
        decode_cereal_binary(wanted, strict=False),
        decode_cereal_json(encode_cereal_json(safety, "a"), "a", strict=False),
        decode_cereal_xml(encode_cereal_xml(safety, "a"), "a", strict=False),
    ):
        assert encode_cereal_binary(found) == wanted


def test_nan_comes_back() -> None:
    safety = JointSafety(k_velocity=math.nan)
    for found in (
        decode_cereal_binary(encode_cereal_binary(safety), strict=False),
        decode_cereal_json(encode_cereal_json(safety), strict=False),
        decode_cereal_xml(encode_cereal_xml(safety), strict=False),
    ):
        assert math.isnan(found.k_velocity)


def test_binary_is_four_doubles() -> None:
    assert encode_cereal_binary(JointSafety(soft_upper_limit=1.0)).hex() == "000000000000f03f" + "0" * 48
    with pytest.raises(LimitsError) as caught:
        decode_cereal_binary(b"\0" * 31, file="f")
    assert (caught.value.file, caught.value.value, caught.value.bound) == ("f", 31, 32)


def test_xml_has_17_digits() -> None:
    lines = encode_cereal_xml(SAFETY).split("\n")
    assert lines == [
        '<?xml version="1.0" encoding="utf-8"?>',
        "<cereal>",
        "\t<archive_type>",
        "\t\t<soft_upper_limit>0.10000000000000001</soft_upper_limit>",
        "\t\t<soft_lower_limit>-0</soft_lower_limit>",
        "\t\t<k_position>1e+20</k_position>",
        "\t\t<k_velocity>4.9406564584124654e-324</k_velocity>",
        "\t</archive_type>",
        "</cereal>",
        "",
        "",
    ]


def test_the_order_of_the_fields_is_free() -> None:
    assert decode_cereal_json(f'{{"archive_type": {{{FIELDS}}}}}') == READ
    assert decode_cereal_xml(f"<cereal><archive_type>{XML_FIELDS}</archive_type></cereal>") == READ


def test_a_record_that_makes_no_sense_is_refused_unless_told() -> None:
    bad = msgspec.structs.replace(SAFETY, k_velocity=-1.0)
    for archive, decode in (
        (encode_cereal_json(bad), decode_cereal_json),
        (encode_cereal_xml(bad), decode_cereal_xml),
    ):
        with pytest.raises(LimitsError, match="negative"):
            decode(archive, file="f")
        assert decode(archive, strict=False) == bad
    with pytest.raises(LimitsError, match="negative"):
        decode_cereal_binary(encode_cereal_binary(bad))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 60000,
        "[]",
        "{}",
        '{"archive_type": 1}',
        '{"other": {}}',
        '{"archive_type": {}}',
        f'{{"archive_type": {{{FIELDS}, "version": 0}}}}',
        f'{{"archive_type": {{{FIELDS}, "k_velocity": 0}}}}',
        f'{{"archive_type": {{{FIELDS}}}, "more": 1}}',
        '{"archive_type": {' + FIELDS.replace("3", "true") + "}}",
        '{"archive_type": {' + FIELDS.replace("3", '"3"') + "}}",
        '{"archive_type": {' + FIELDS.replace("3", "9" * 400) + "}}",
        " " * (MAX_BYTES + 1),
    ],
)
def test_json_that_is_no_archive_is_refused(text: str) -> None:
    with pytest.raises(LimitsError) as caught:
        decode_cereal_json(text, file="f.json", strict=False)
    assert caught.value.file == "f.json"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<boost/>",
        "<cereal/>",
        f"<cereal><other>{XML_FIELDS}</other></cereal>",
        f"<cereal><archive_type>{XML_FIELDS}<more/></archive_type></cereal>",
        f"<cereal><archive_type>{XML_FIELDS.replace('3', '3a')}</archive_type></cereal>",
        f"<cereal><archive_type>{XML_FIELDS.replace(' 3 ', '')}</archive_type></cereal>",
        f"<!DOCTYPE cereal><cereal><archive_type>{XML_FIELDS}</archive_type></cereal>",
        " " * (MAX_BYTES + 1),
    ],
)
def test_xml_that_is_no_archive_is_refused(text: str) -> None:
    with pytest.raises(LimitsError) as caught:
        decode_cereal_xml(text, file="f.xml", strict=False)
    assert caught.value.file == "f.xml"


def test_a_name_that_cannot_stand_in_xml_is_refused() -> None:
    for encode in (encode_cereal_xml, encode_cereal_json):
        with pytest.raises(LimitsError, match="no name"):
            encode(SAFETY, "<a>")
