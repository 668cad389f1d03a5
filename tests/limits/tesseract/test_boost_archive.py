import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.tesseract.boost_archive import decode_boost_xml, encode_boost_xml
from limits.tesseract.cereal_archive import MAX_BYTES
from limits.tesseract.joint_safety import JointSafety

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SAFETIES = st.builds(JointSafety, **dict.fromkeys(JointSafety.__struct_fields__, FINITE))
SAFETY = JointSafety(soft_upper_limit=0.1, soft_lower_limit=-0.0, k_position=1e20)
TEXT = """\
<?xml version="1.0" encoding="UTF-8" standalone="yes" ?>
<!DOCTYPE boost_serialization>
<boost_serialization signature="serialization::archive" version="17">
<archive_type class_id="0" tracking_level="1" version="0" object_id="_0">
\t<soft_upper_limit>1.00000000000000006e-01</soft_upper_limit>
\t<soft_lower_limit>-0.00000000000000000e+00</soft_lower_limit>
\t<k_position>1.00000000000000000e+20</k_position>
\t<k_velocity>0.00000000000000000e+00</k_velocity>
</archive_type>
</boost_serialization>

"""


def test_the_text_is_boosts() -> None:
    assert encode_boost_xml(SAFETY) == TEXT


@given(SAFETIES)
def test_every_number_comes_back(safety: JointSafety) -> None:
    assert decode_boost_xml(encode_boost_xml(safety), strict=False) == safety


def test_an_archive_without_tracking_or_document_type_is_read() -> None:
    untracked = TEXT.replace(' tracking_level="1"', ' tracking_level="0"').replace(' object_id="_0"', "")
    assert decode_boost_xml(untracked) == SAFETY
    assert decode_boost_xml(TEXT.replace("<!DOCTYPE boost_serialization>", "")) == SAFETY
    assert decode_boost_xml("\n".join(TEXT.splitlines()[1:])) == SAFETY


def test_what_boost_cannot_read_back_is_not_written() -> None:
    for value in (math.nan, math.inf):
        with pytest.raises(LimitsError) as caught:
            encode_boost_xml(JointSafety(k_position=value))
        assert caught.value.key == "k_position"


def test_a_record_that_makes_no_sense_is_refused_unless_told() -> None:
    bad = JointSafety(k_velocity=-1.0)
    with pytest.raises(LimitsError, match="negative"):
        decode_boost_xml(encode_boost_xml(bad))
    assert decode_boost_xml(encode_boost_xml(bad), strict=False) == bad


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TEXT, ""),
        (TEXT, " " * (MAX_BYTES + 1)),
        ("boost_serialization", "boost"),
        ("archive_type", "other"),
        ("serialization::archive", "serialization::other"),
        ('version="0"', 'version="1"'),
        ("soft_lower_limit", "soft_limit"),
        ("1.00000000000000000e+20", "many"),
        ("<!DOCTYPE boost_serialization>", '<!DOCTYPE boost_serialization [<!ENTITY a "b">]>'),
        ("\t<k_velocity>0.00000000000000000e+00</k_velocity>\n", ""),
    ],
)
def test_text_that_is_no_archive_is_refused(old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(LimitsError) as caught:
        decode_boost_xml(TEXT.replace(old, new), file="f.xml")
    assert caught.value.file == "f.xml"


def test_fields_out_of_order_are_refused() -> None:
    lines = TEXT.splitlines()
    lines[4], lines[5] = lines[5], lines[4]
    with pytest.raises(LimitsError, match="fields"):
        decode_boost_xml("\n".join(lines))
