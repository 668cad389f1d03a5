import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLACE = Path(__file__).parents[2] / "vectors" / "intrinsic_vectors.py"
SPEC = importlib.util.spec_from_file_location("intrinsic_vectors", PLACE)
assert SPEC is not None
assert SPEC.loader is not None
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)
RUNNERS: dict[str, Callable[[dict[str, Any]], str | None]] = MODULE.RUNNERS
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
