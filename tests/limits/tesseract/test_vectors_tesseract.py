import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
FILES = (
    "ros2_pr2_joint_safety",
    "tesseract_almost_equal",
    "tesseract_change_limits",
    "tesseract_joint_safety_archive",
    "tesseract_joint_safety_bounds",
    "tesseract_joint_safety_equal",
    "tesseract_kinematic_limits_equal",
    "tesseract_limit_parse",
    "tesseract_limits_check",
    "tesseract_safety_controller_parse",
)


@pytest.fixture(scope="module")
def runners() -> ModuleType:
    path = ROOT / "tests" / "vectors" / "tesseract_vectors.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", FILES)
def test_every_vector_of_a_file_passes(name: str, vectors_dir: Path, runners: ModuleType) -> None:
    lines = [json.loads(text) for text in (vectors_dir / f"{name}.jsonl").read_text().splitlines()]
    verdicts = {line["id"]: runners.RUNNERS[line["fn"]](line) for line in lines}
    assert verdicts
    assert {key: reason for key, reason in verdicts.items() if reason and not reason.startswith("skip: ")} == {}


def test_every_tesseract_file_has_its_runner(vectors_dir: Path) -> None:
    found = {path.stem for path in vectors_dir.glob("tesseract_*.jsonl")}
    assert found <= set(FILES)
