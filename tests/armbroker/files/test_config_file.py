import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armbroker.files.config_file import ARM, FILE_MOST, RECIPE, ConfigFile, FaultyFileError, read_file, text_of
from schema.codecs.items_form import VALUE_SLOTS
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import Message
from tests.handlers.builders import linear, values
from tests.mosquitto import ROOT

HELD = {slot: value for slot, value in values().items() if slot in VALUE_SLOTS}
JOINTS: dict[tuple[str, int], Message] = {
    ("joint_limits", 0): JointLimits(max_velocity=RepeatedDouble((1.0, float("inf")))),
    ("joint_safety", 0): JointSafetyMap({"j.1": JointSafetyGains(1.0, -1.0, 2.0, 3.0)}),
    ("joint_parameters", 0): JointParameterMap({"joint_limits.j1.has_jerk_limits": False}),
}
WELD = ConfigFile(RECIPE, "weld", ("gen3_7dof",), 'said "so"\n', HELD | JOINTS)
SCHEMA = json.loads((ROOT / "docs/config.schema.json").read_text())


@pytest.mark.parametrize("form", ["toml", "json"])
def test_a_file_is_read_as_it_was_written_and_written_alike(tmp_path: Path, form: str) -> None:
    for file in (WELD, ConfigFile(ARM, "r12", (), "", HELD)):
        path = tmp_path / f"x.{form}"
        path.write_text(text_of(file, form))
        found = read_file(path)
        assert found == file
        assert text_of(found, form) == path.read_text()


def test_a_file_says_nothing_that_changes_by_itself() -> None:
    text = text_of(ConfigFile(RECIPE, "weld", (), "", {("twist_linear_soft_limit", 2): linear(0.25)}), "toml")
    assert text == (
        'armbroker = 1\nkind = "recipe"\nname = "weld"\n\n[items.twist_linear_soft_limit]\nCARTESIAN_JOYSTICK = 0.25\n'
    )


FAULTY = """armbroker = 2
kind = "robot"
name = "we/ld"
modles = ["x"]
models = ["a", 3, "a"]

[items.gravity_vector]
x = "a"
y = nan
z = 1

[items.colour]
a = 3
b = 4

[items.joint_speed_soft_limits]
ANGULAR_JOYSTICK = [1, 2,
  "x", inf]
IDLE = [3, 4]
ANGULAR_JOYSTIK = [1]

[items.joint_safety.joints."j.1"]
k_velocity = 1

[items.joint_parameters.parameters]
"joint_limits.j1.max_velocity" = "q"

[items.control_mode]
control_mode = "IDLE"
"""


def test_all_faults_are_told_at_once_with_line_and_key(tmp_path: Path) -> None:
    path = tmp_path / "weld.toml"
    path.write_text(FAULTY)
    with pytest.raises(FaultyFileError) as caught:
        read_file(path)
    told = [line.removeprefix(f"{path}:").split(": ", 2) for line in str(caught.value).splitlines()]
    assert [(int(line), key) for line, key, _ in told] == [
        (4, "modles"),
        (1, "armbroker"),
        (2, "kind"),
        (3, "name"),
        (5, "models[1]"),
        (5, "models[2]"),
        (8, "items.gravity_vector.x"),
        (9, "items.gravity_vector.y"),
        (12, "items.colour"),
        (18, "items.joint_speed_soft_limits.ANGULAR_JOYSTICK[2]"),
        (18, "items.joint_speed_soft_limits.ANGULAR_JOYSTICK[3]"),
        (19, "items.joint_speed_soft_limits.IDLE"),
        (20, "items.joint_speed_soft_limits.ANGULAR_JOYSTIK"),
        (22, 'items.joint_safety.joints."j.1".soft_upper_limit'),
        (26, 'items.joint_parameters.parameters."joint_limits.j1.max_velocity"'),
        (28, "items.control_mode"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("x.toml", "", ":1: armbroker: it is missing"),
        ("x.toml", "armbroker = true", "armbroker: 'True', 1 is needed"),
        ("x.toml", "x = [\n", ":1: "),
        ("x.toml", 'a = 1\nb = "\n', ":2: "),
        ("x.toml", "a = 1\na = 2\n", ":2: "),
        ("x.toml", f"a = {'9' * 5000}", ":1: Exceeds the limit"),
        ("x.toml", "items = 3", "items: at least one table"),
        ("x.toml", "[items]", "items: at least one table"),
        (
            "x.toml",
            "[items.twist_linear_soft_limit]",
            ":1: items.twist_linear_soft_limit: at least one value is needed",
        ),
        ("x.toml", "models = 3", "models: a list of at most 64 models"),
        ("x.toml", f'note = "{"x" * 1001}"', "note: a text of at most 1000 characters"),
        ("x.toml", "note = 3", "note: a text"),
        ("x.toml", "[items]\ntwist_linear_soft_limit = [1, 2]", ":2: items.twist_linear_soft_limit: a list is given"),
        ("x.json", '{"items": {"twist_linear_soft_limit": null}}', "items.twist_linear_soft_limit: null is given"),
        ("x.toml", "[items.gravity_vector]\nx = 1979-05-27", ":2: items.gravity_vector.x: a value of another kind"),
        ("x.toml", "[items.gravity_vector]\nw = 1", ":2: items.gravity_vector.w: GravityVector has no such field"),
        ("x.json", "{", ":1: Expecting property name"),
        ("x.json", '{"a": 1,\n "a": 2}', ": key 'a' is given twice"),
        ("x.json", "[1]", ": an object is needed"),
        ("x.json", "[" * 100_000, ": nested too deep"),
        ("x.json", '{"items": {\n"gravity_vector": {"x": NaN}}}', ":2: items.gravity_vector.x: nan is not finite"),
        ("x.toml", "\ufeffa = 1", ":1: Invalid statement"),
    ],
)
def test_what_is_no_such_file_is_told(tmp_path: Path, name: str, text: str, told: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FaultyFileError) as caught:
        read_file(path)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


def test_bytes_that_are_no_text_or_too_many_are_refused(tmp_path: Path) -> None:
    for data, told in ((b"a = 1\xff", "no UTF-8 text"), (b"#" * (FILE_MOST + 1), f"more than {FILE_MOST} bytes")):
        (tmp_path / "x.toml").write_bytes(data)
        with pytest.raises(FaultyFileError, match=told):
            read_file(tmp_path / "x.toml")


def test_the_schema_takes_what_is_written_and_refuses_what_is_not_read() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    check = jsonschema.Draft7Validator(SCHEMA)
    written = json.loads(text_of(WELD, "json"))
    assert not list(check.iter_errors(written))
    for wrong in (
        written | {"armbroker": 2},
        written | {"kind": "robot"},
        written | {"name": "we/ld"},
        written | {"version": 3},
        written | {"items": {}},
        written | {"items": {"control_mode": {"control_mode": "IDLE"}}},
        written | {"items": {"twist_linear_soft_limit": {"IDLE": 1}}},
        written | {"items": {"gravity_vector": {"x": "1"}}},
        written | {"items": {"joint_safety": {"joints": {"j1": {"k_velocity": 1}}}}},
    ):
        assert list(check.iter_errors(wrong)), wrong


WORDS = st.sampled_from(
    ["armbroker", "kind", "name", "models", "note", "items", "recipe", "weld", "gravity_vector", "x", "joint_safety",
     "joints", "twist_linear_soft_limit", "CARTESIAN_JOYSTICK", "j.1", "k_velocity", "joint_limits", "max_jerk", ""]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=3)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=15
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=TREES, more=st.dictionaries(WORDS, TREES, max_size=3))
def test_whatever_a_file_holds_is_read_or_told_with_its_line(tmp_path: Path, items: object, more: object) -> None:
    document = {"armbroker": 1, "kind": "arm", "name": "r12", "items": items} | dict(more)  # type: ignore[call-overload]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document, indent=1))
    try:
        found = read_file(path)
    except FaultyFileError as error:
        for line in str(error).splitlines():
            assert line.startswith(f"{path}:"), line
    else:
        assert read_file_again(path, found) == found


def read_file_again(path: Path, file: ConfigFile) -> ConfigFile:
    path.write_text(text_of(file, "json"))
    return read_file(path)
