import math
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.formats.numbers import (
    archive_number,
    exact_text,
    scanned_number,
    stream_number,
    strict_number,
    three_digit_text,
)

PIECES = ("0x", "0X", ".", "e", "E", "p", "+", "-", "inf", "INFINITY", "nan", "(", "a", "1", "0", "9", "12", "3.5", "_")
PIECES_OF_BLANKS = (" ", "\t", ",")
PROGRAM = r"""
#include <cstdio>
#include <iostream>
#include <sstream>
int main() {
  std::string text;
  while (std::getline(std::cin, text)) {
    double scanned = 0, streamed = 0;
    int found = std::sscanf(text.c_str(), "%lf", &scanned);
    std::stringstream stream;
    stream.imbue(std::locale::classic());
    stream << text;
    stream >> streamed;
    bool whole = !stream.fail() && stream.eof();
    std::printf("%d %.17g %d %.17g\n", found == 1, scanned, whole, streamed);
  }
}
"""


def same(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return (math.isnan(found) and math.isnan(wanted)) or struct.pack("d", found) == struct.pack("d", wanted)


@pytest.mark.parametrize("text", ["1", "-0", ".5", "5.", "1e3", "+4", "00012", "1.e3", "1e-400"])
def test_strict_reads_finite_decimals(text: str) -> None:
    assert same(strict_number(text), float(text))


@pytest.mark.parametrize(
    "text", ["", " 4", "4 ", "1,5", "1_0", "0x10", "nan", "inf", "1e400", "1e", "--1", "4abc", "\u0663", ".", "1\n"]
)
def test_strict_refuses_everything_else(text: str) -> None:
    assert strict_number(text) is None


@pytest.mark.parametrize(("text", "value"), [(" 4", 4.0), ("1e1", 10.0), ("-inf", None), ("1,5", None), ("4 ", None)])
def test_stream_skips_leading_blanks_only(text: str, value: float | None) -> None:
    assert same(stream_number(text), value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4abc", 4.0),
        ("1,5", 1.0),
        (" \v-0x1.8p1z", -3.0),
        ("0x.", 0.0),
        ("0xg", None),
        ("0x1p99999", math.inf),
        ("-1e400", -math.inf),
        ("1e", 1.0),
        ("nan(", math.nan),
        ("-Infinityx", -math.inf),
        ("infi", None),
        ("\u0663", None),
        ("", None),
    ],
)
def test_scanned_reads_the_longest_prefix(text: str, value: float | None) -> None:
    assert same(scanned_number(text), value)


@given(st.lists(st.lists(st.sampled_from(PIECES + PIECES_OF_BLANKS), max_size=6).map("".join), min_size=1))
def test_strict_reads_a_part_of_what_stream_reads_and_that_of_scanned(texts: list[str]) -> None:
    for text in texts:
        strict, stream, scanned = strict_number(text), stream_number(text), scanned_number(text)
        assert strict is None or same(strict, stream)
        assert stream is None or same(stream, scanned)


def test_the_cpp_readers_agree(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (tmp_path / "numbers.cpp").write_text(PROGRAM)
    subprocess.run([compiler, "numbers.cpp", "-o", "numbers"], cwd=tmp_path, check=True)
    pieces = (*PIECES, *PIECES_OF_BLANKS)
    texts = [
        "",
        *pieces,
        *(a + b for a in pieces for b in pieces),
        *(a + b + c for a in "+-0 " for b in pieces for c in pieces),
    ]
    answer = subprocess.run(
        [tmp_path / "numbers"], input="\n".join(texts) + "\n", capture_output=True, text=True, check=True
    ).stdout
    for text, line in zip(texts, answer.splitlines(), strict=True):
        found, scanned, whole, streamed = line.split()
        assert same(scanned_number(text), float(scanned) if found == "1" else None), text
        assert same(stream_number(text), float(streamed) if whole == "1" else None), text


@given(st.floats())
def test_exact_text_gives_the_number_back(value: float) -> None:
    assert same(float(exact_text(value)), value + 0.0)


def test_a_zero_has_no_sign_in_exact_text() -> None:
    assert exact_text(-0.0) == "0.0"


def test_three_digits_lose_what_they_lose() -> None:
    assert [three_digit_text(value) for value in (3.14159, 1234.0, 0.0)] == ["3.14", "1.23e+03", "0"]


def test_archive_numbers_are_whole_texts() -> None:
    assert archive_number("1e+20") == 1e20
    assert archive_number("-inf") == -math.inf
    assert same(archive_number("-nan"), math.nan)
    assert archive_number("1 ") is None
    assert archive_number("Infinity") is None
