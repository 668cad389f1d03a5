import json
from pathlib import Path
from typing import Any

import pytest

from tests.vectors.intrinsic_vectors import RUNNERS

KINDS = sorted(RUNNERS)


def stem(kind: str) -> str:
    return kind if kind.startswith("intrinsic_") else f"intrinsic_{kind}"


def lines(place: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in place.read_text().splitlines()]


@pytest.mark.parametrize("kind", KINDS)
def test_vectors(kind: str, vectors_dir: Path) -> None:
    found = lines(vectors_dir / f"{stem(kind)}.jsonl")
    failed = [reason for reason in map(RUNNERS[kind], found) if reason is not None and not reason.startswith("skip: ")]
    assert found
    assert not failed, "\n".join(failed[:5])


def test_every_file_has_a_runner(vectors_dir: Path) -> None:
    assert {place.stem for place in vectors_dir.glob("intrinsic_*.jsonl")} == {stem(kind) for kind in KINDS}
