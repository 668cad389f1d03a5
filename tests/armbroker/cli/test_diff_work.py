from pathlib import Path
from typing import Any

import pytest

from armbroker.cli.diff_work import Operand, difference_lines, operand, row_line
from armbroker.cli.export_work import with_ground
from armbroker.files.config_file import RECIPE, ConfigFile, FaultyFileError, text_of
from schema.messages import GravityVector

FILE = ConfigFile(RECIPE, "weld", (), "", {("gravity_vector", 0): GravityVector(z=-9.8)})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("r12", Operand("arm", "r12")),
        ("r12@41", Operand("arm", "r12", 41)),
        ("recipe:weld", Operand("recipe", "weld")),
        ("recipe:weld-6@3", Operand("recipe", "weld-6", 3)),
        ("@cell-4", Operand("group", "cell-4")),
    ],
)
def test_an_argument_stands_for_one_thing(text: str, found: Operand) -> None:
    assert operand(text) == found


def test_a_file_is_read(tmp_path: Path) -> None:
    for form in ("toml", "json"):
        path = tmp_path / f"weld.{form}"
        path.write_text(text_of(FILE, form))
        assert operand(str(path)) == Operand("file", str(path), file=FILE)
    with pytest.raises(OSError, match="r12"):
        operand("./r12")
    (tmp_path / "x.toml").write_text("x = 1")
    with pytest.raises(FaultyFileError):
        operand(str(tmp_path / "x.toml"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is wanted"),
        ("@", "is wanted"),
        ("@cell+4", "is wanted"),
        ("recipe:", "is wanted"),
        ("recipe:@3", "is wanted"),
        ("r12@", "'' is no number"),
        ("r12@0", "'0' is no number"),
        ("r12@-1", "'-1' is no number"),
        ("r12@1@2", "'1@2' is no number"),
        ("recipe:weld@latest", "'latest' is no number, recipe:NAME@VERSION is wanted"),
        (f"r12@{'9' * 99}", "is no number"),
    ],
)
def test_what_stands_for_nothing_is_told(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        operand(text)


def test_a_source_names_the_arm_that_is_not_addressed() -> None:
    assert operand("r12").source("r12") == {}
    assert operand("r12").source("r13") == {"arm": "r12"}
    assert operand("r12@4").source("r12") == {"rev": 4}
    assert operand("r12@4").source("") == {"arm": "r12", "rev": 4}
    assert operand("recipe:weld").source("r12") == {"recipe": "weld"}
    assert operand("recipe:weld@3").source("r12") == {"recipe": "weld", "version": 3}
    items = {"gravity_vector": {"x": 0.0, "y": 0.0, "z": -9.8}}
    assert Operand("file", "x", file=FILE).source("r12") == {"items": items}


def test_lines_for_people() -> None:
    result = {
        "same": False, "count": 3, "only_from": ["gravity_vector"], "only_to": ["joint_safety"],
        "differences": [{"path": "twist", "from": 0.2, "to": 0.1, "direction": "tightening"}],
    }  # fmt: skip
    assert difference_lines(result) == [
        "twist: 0.2 -> 0.1 (tightening)", "gravity_vector: only in the first", "joint_safety: only in the second",
    ]  # fmt: skip
    assert row_line({"arm": "r12", "same": True, "count": 0, "paths": []}) == "r12: the same"
    assert row_line({"arm": "r12", "same": False, "count": 3, "paths": ["a", "b"]}) == "r12: a, b and 1 more"
    assert row_line({"arm": "r12", "same": False, "count": 1, "paths": ["a"]}) == "r12: a"
    assert row_line({"arm": "r12", "kind": "arm_not_read", "message": "never"}) == "r12: arm_not_read: never"


def test_an_export_is_of_the_values_below_overrides() -> None:
    items: dict[str, Any] = {
        "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.4, "CARTESIAN_TRAJECTORY": 0.5},
        "payload_information": {"payload_mass": 2.0},
    }
    differences = [
        {"path": "twist_linear_soft_limit/CARTESIAN_JOYSTICK", "from": 0.25, "to": 0.4},
        {"path": "payload_information", "from": {"payload_mass": 1.0}, "to": {"payload_mass": 2.0}},
    ]
    assert with_ground(items, {"differences": differences}) == {
        "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.25, "CARTESIAN_TRAJECTORY": 0.5},
        "payload_information": {"payload_mass": 1.0},
    }
    assert items["twist_linear_soft_limit"]["CARTESIAN_JOYSTICK"] == 0.4
