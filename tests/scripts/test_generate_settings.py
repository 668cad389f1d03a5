"""The page of all settings is complete, and what it says of bounds holds for the service."""

from pathlib import Path

import pytest

from broker.reload import AT_START
from broker.settings import SettingsError, load
from broker.settings.environment import PROCESS, TOOLS, VARIABLES
from scripts.generate_settings import leaves, page
from scripts.settings_table import SETTINGS

BASE = {"clients.<user>": "[clients.ann]\n", "arm.checks": '[[arm]]\nid = "r1"\n[arm.checks]\n', "arm": "[[arm]]\n"}
AFTER = '\n[[arm]]\nid = "r2"\nmodel = "gen3_7dof"\n'


def written(key: str, value: str) -> str:
    """A file with one setting of this value, and arms r1 and r2."""
    table, _, name = key.rpartition(".")
    line = f"{name} = {value}\n"
    if not table:
        return line
    first = "" if table.startswith("arm.") or table == "arm" else '[[arm]]\nid = "r1"\n'
    own = 'id = "r1"\n' if table == "arm" and name != "id" else ""
    return first + BASE.get(table, f"[{table}]\n") + own + line + AFTER


def cases(which: str) -> list[tuple[str, str]]:
    return [(key, value) for key, meaning in SETTINGS.items() for value in getattr(meaning, which)]


def test_every_setting_has_its_line() -> None:
    assert {leaf.key for leaf in leaves()} == SETTINGS.keys()
    text = page()
    assert text.count("\n| `") == len(SETTINGS) + len(PROCESS) + len(TOOLS)


def test_every_variable_stands_beside_its_setting() -> None:
    text = page()
    for name in (*VARIABLES, *PROCESS, *TOOLS):
        if VARIABLES.get(name, ((name,), None))[0] in {("clients",), ("arm",)}:
            continue
        assert text.count(f"`{name}`") == 1, name


@pytest.mark.parametrize(("key", "value"), cases("good"))
def test_what_is_said_to_be_allowed_is_taken(tmp_path: Path, key: str, value: str) -> None:
    (tmp_path / "fleet.toml").write_text(written(key, value))
    assert load(tmp_path / "fleet.toml", {})


@pytest.mark.parametrize(("key", "value"), cases("bad"))
def test_what_is_beyond_is_refused_by_name(tmp_path: Path, key: str, value: str) -> None:
    (tmp_path / "fleet.toml").write_text(written(key, value))
    with pytest.raises(SettingsError) as caught:
        load(tmp_path / "fleet.toml", {})
    assert key.rpartition(".")[2] in str(caught.value)


def test_numbers_and_words_are_bounded_by_examples() -> None:
    bounded = [key for key, meaning in SETTINGS.items() if meaning.allowed and "file" not in meaning.allowed]
    assert all(SETTINGS[key].bad for key in bounded if key not in {"arm.options", "metrics.listen", "store.dir"})


def test_what_counts_from_the_next_start_on_is_said() -> None:
    text = page()
    assert "| `root` | text |" in text
    for name in AT_START:
        line = f"## `[{name}]`\n\nCounts from the next start on." if f"## `[{name}]`" in text else f"| `{name}` |"
        assert line in text
    assert text.count("ounts from the next start on") == len(AT_START)
