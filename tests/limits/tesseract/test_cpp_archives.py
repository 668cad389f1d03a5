"""The archives against the C++ libraries themselves, where they are installed."""

import math
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from limits.tesseract.boost_archive import decode_boost_xml, encode_boost_xml
from limits.tesseract.cereal_archive import (
    decode_cereal_binary,
    decode_cereal_json,
    decode_cereal_xml,
    encode_cereal_binary,
    encode_cereal_json,
    encode_cereal_xml,
)
from limits.tesseract.joint_safety import JointSafety

RECORDS = (
    JointSafety(),
    JointSafety(soft_upper_limit=0.1, soft_lower_limit=-math.pi, k_position=1e20, k_velocity=1 / 3),
    JointSafety(soft_upper_limit=-0.0, soft_lower_limit=5e-324, k_position=1.7976931348623157e308, k_velocity=1e-9),
)
STRUCT = """
#include <cstdio>
#include <iostream>
#include <string>
struct JointSafety {
  double soft_upper_limit{0}, soft_lower_limit{0}, k_position{0}, k_velocity{0};
  template <class Archive> void serialize(Archive& archive FURTHER) { FIELDS }
};
"""
MAIN = """
template <class In, class Out> void again() {
  JointSafety safety;
  { In in(std::cin); in NAME_IN; }
  std::fprintf(stderr, "%a %a %a %a", safety.soft_upper_limit, safety.soft_lower_limit, safety.k_position,
               safety.k_velocity);
  Out out(std::cout); out NAME_OUT;
}
"""
BOOST = (
    """
#include <boost/archive/xml_iarchive.hpp>
#include <boost/archive/xml_oarchive.hpp>
#include <boost/serialization/export.hpp>
#include <boost/serialization/nvp.hpp>
"""
    + STRUCT.replace("FURTHER", ", const unsigned int").replace(
        "FIELDS",
        "archive & BOOST_SERIALIZATION_NVP(soft_upper_limit) & BOOST_SERIALIZATION_NVP(soft_lower_limit)"
        " & BOOST_SERIALIZATION_NVP(k_position) & BOOST_SERIALIZATION_NVP(k_velocity);",
    )
    + """
#ifdef EXPORTED
BOOST_CLASS_EXPORT_KEY2(JointSafety, "JointSafety")
BOOST_CLASS_EXPORT_IMPLEMENT(JointSafety)
#endif
"""
    + MAIN.replace("NAME_IN", '>> boost::serialization::make_nvp("archive_type", safety)').replace(
        "NAME_OUT", '<< boost::serialization::make_nvp("archive_type", safety)'
    )
    + "int main() { again<boost::archive::xml_iarchive, boost::archive::xml_oarchive>(); }"
)
CEREAL = (
    """
#include <cereal/archives/binary.hpp>
#include <cereal/archives/json.hpp>
#include <cereal/archives/xml.hpp>
"""
    + STRUCT.replace("FURTHER", "").replace(
        "FIELDS",
        "archive(CEREAL_NVP(soft_upper_limit), CEREAL_NVP(soft_lower_limit), CEREAL_NVP(k_position),"
        " CEREAL_NVP(k_velocity));",
    )
    + MAIN.replace("NAME_IN", '(cereal::make_nvp("archive_type", safety))').replace(
        "NAME_OUT", '(cereal::make_nvp("archive_type", safety))'
    )
    + """
int main(int, char** arguments) {
  std::string form = arguments[1];
  if (form == "binary") again<cereal::BinaryInputArchive, cereal::BinaryOutputArchive>();
  if (form == "json") again<cereal::JSONInputArchive, cereal::JSONOutputArchive>();
  if (form == "xml") again<cereal::XMLInputArchive, cereal::XMLOutputArchive>();
}
"""
)


def build(folder: Path, source: str, *options: str) -> Path:
    """Compile a program; the test is skipped where compiler or library are missing."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (folder / "program.cpp").write_text(source)
    command = [compiler, "-w", "program.cpp", "-o", "program", *options]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        for missing in ("No such file", "cannot find -l"):
            if missing in result.stderr:
                pytest.skip(f"C++ library not installed: {missing}")
        pytest.fail(result.stderr)
    return folder / "program"


def again(program: Path, archive: bytes, *arguments: str) -> tuple[JointSafety, bytes]:
    """What the library reads from an archive, and the archive it writes of that."""
    result = subprocess.run([program, *arguments], input=archive, capture_output=True, check=True)
    values = [float.fromhex(number) for number in result.stderr.decode().split()]
    return JointSafety(**dict(zip(JointSafety.__struct_fields__, values, strict=True))), result.stdout


def same(found: JointSafety, wanted: JointSafety) -> bool:
    return encode_cereal_binary(found) == encode_cereal_binary(wanted)


@pytest.mark.parametrize("exported", [True, False])
def test_boost_reads_and_writes_the_same(exported: bool, tmp_path: Path) -> None:
    options = ["-DEXPORTED"] if exported else []
    program = build(tmp_path, BOOST, *options, "-lboost_serialization")
    for record in RECORDS:
        ours = encode_boost_xml(record)
        read, theirs = again(program, ours.encode())
        assert same(read, record)
        assert same(decode_boost_xml(theirs.decode(), strict=False), record)
        if exported:
            assert re.sub(r'archive" version="\d+"', 'archive" version="17"', theirs.decode()) == ours


@pytest.fixture(scope="module")
def cereal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("cereal"), CEREAL)


def test_cereal_reads_and_writes_the_same(cereal: Path) -> None:
    for record in RECORDS:
        read, theirs = again(cereal, encode_cereal_binary(record), "binary")
        assert same(read, record)
        assert theirs == encode_cereal_binary(record)
        assert same(decode_cereal_binary(theirs, strict=False), record)
        read, theirs = again(cereal, encode_cereal_xml(record).encode(), "xml")
        assert same(read, record)
        assert theirs.decode() == encode_cereal_xml(record)
        assert same(decode_cereal_xml(theirs, strict=False), record)
        read, theirs = again(cereal, encode_cereal_json(record).encode(), "json")
        assert same(read, record)
        assert same(decode_cereal_json(theirs.decode(), strict=False), record)


def test_cereal_keeps_what_is_not_finite(cereal: Path) -> None:
    record = JointSafety(soft_upper_limit=math.inf, soft_lower_limit=-math.inf)
    read, theirs = again(cereal, encode_cereal_json(record).encode(), "json")
    assert read == decode_cereal_json(theirs.decode(), strict=False) == record
    read, theirs = again(cereal, encode_cereal_xml(record).encode(), "xml")
    assert read == decode_cereal_xml(theirs, strict=False) == record
    unknown = msgspec.structs.replace(record, k_velocity=math.nan)
    read, theirs = again(cereal, encode_cereal_json(unknown).encode(), "json")
    assert math.isnan(read.k_velocity)
    assert math.isnan(decode_cereal_json(theirs.decode(), strict=False).k_velocity)
