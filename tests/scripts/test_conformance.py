import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINOVA = ("kinova_wire.jsonl", "kinova_wire_edge.jsonl", "kinova_errors.json", "kinova_rpcs.json")


def conformance(*files: Path) -> tuple[int, list[str]]:
    """Exit code and lines of a run."""
    command = [sys.executable, str(ROOT / "scripts/conformance"), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("name", KINOVA)
def test_the_kinova_wire_vectors_pass(vectors_dir: Path, name: str) -> None:
    path = vectors_dir / name
    count = len(path.read_text().splitlines()) if path.suffix == ".jsonl" else 1
    assert conformance(path) == (0, [f"{count} passed, 0 failed"])


def test_failures_and_skips_are_named(tmp_path: Path) -> None:
    message = "Kinova.Api.ControlConfig.GravityVector"
    wrong = tmp_path / "kinova_wire_own.jsonl"
    wrong.write_text(
        json.dumps({"message": message, "hex": "", "json": {"z": 1.0}})
        + "\n\n"
        + json.dumps({"message": message, "hex": "", "json": {}})
        + "\n"
        + json.dumps({"message": "None", "hex": "", "json": {}})
    )
    unknown = tmp_path / "unknown.jsonl"
    unknown.write_text('{"id": "U1", "fn": "no_such_function"}\n')
    code, lines = conformance(wrong, unknown)
    assert code == 1
    assert lines[0].startswith(f"failed: kinova_wire_own.jsonl:1 {message}: decoded ")
    assert lines[1:] == [
        "failed: kinova_wire_own.jsonl:4 None: raised KeyError: 'None'",
        "skipped: unknown.jsonl:1 U1: nothing runs this kind",
        "1 passed, 2 failed, 1 skipped",
    ]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "kinova_wire.jsonl"
    broken.write_text("{")
    assert conformance(broken) == (2, [])
    assert conformance(tmp_path / "absent.jsonl") == (2, [])


def test_the_kinova_cases_pass_or_are_skipped_by_name(vectors_dir: Path) -> None:
    code, lines = conformance(vectors_dir / "kinova_cases.jsonl")
    assert code == 0
    assert all(line.startswith("skipped: kinova_cases.jsonl:") for line in lines[:-1])
    assert ", 0 failed" in lines[-1]
