"""The faces for programs hold what they say, and nothing that was renamed away."""

import ast
from types import ModuleType

import pytest

from armbroker import adapters, limits
from tests.mosquitto import ROOT

FACES = (adapters, limits)
INNER = {"broker", "devices", "handlers", "limits", "schema"}


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_every_name_is_there_once_and_documented(face: ModuleType) -> None:
    assert sorted(set(face.__all__), key=str.lower) == sorted(face.__all__, key=str.lower)
    public = {name for name in vars(face) if not name.startswith("_")}
    assert public == set(face.__all__)
    undocumented = [name for name in face.__all__ if callable(value := getattr(face, name)) and not value.__doc__]
    assert undocumented == []


def test_the_template_needs_nothing_but_the_face() -> None:
    for path in (ROOT / "examples" / "adapter_template").rglob("*.py"):
        imported = {
            node.module.partition(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and node.module
        }
        assert not imported & INNER, path
