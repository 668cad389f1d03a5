"""The worked examples of docs/limits_examples.md, one for each of the four systems, end to end over MQTT."""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService
from tests.mosquitto import ROOT

PAGE = (ROOT / "docs" / "limits_examples.md").read_text()
TABLE = (ROOT / "docs" / "limits_service.md").read_text()
SYSTEMS = ("Kinova.Api.ControlConfig", "intrinsic_proto", "tesseract", "ros2_control")


def example(system: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Method, params and what the reply holds, of each step of an example."""
    block = re.search(rf"^## {re.escape(system)}.*?^```\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert block is not None
    lines = block[1].splitlines()
    steps = []
    for sent, got in zip(lines[::2], lines[1::2], strict=True):
        method, _, params = sent.removeprefix("-> ").partition(" ")
        assert got.startswith("<- ")
        steps.append((method, json.loads(params), json.loads(got.removeprefix("<- "))))
    return steps


def assert_holds(found: Any, wanted: Any, path: str) -> None:
    """Everything that is wanted is in what was found; numbers within four digits, lists as long."""
    if isinstance(wanted, dict):
        assert wanted.keys() <= found.keys(), path
        for key, value in wanted.items():
            assert_holds(found[key], value, f"{path}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), f"{path}: {found}"
        for at, (left, right) in enumerate(zip(found, wanted, strict=True)):
            assert_holds(left, right, f"{path}[{at}]")
    elif isinstance(wanted, float | int) and not isinstance(wanted, bool):
        assert found == pytest.approx(wanted, rel=1e-4), path
    else:
        assert found == wanted, path


@pytest.fixture
def settings(tmp_path: Path) -> list[dict[str, Any]]:
    """The arms of the page's settings, with the files of the page."""
    arms: list[dict[str, Any]] = tomllib.loads(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0])["arm"]
    for key, form in (("urdf", "xml"), ("ros_yaml", "yaml")):
        (text,) = re.findall(rf"```{form}\n(.*?)```", PAGE, re.DOTALL)
        (tmp_path / arms[0][key]).write_text(text)
        arms[0][key] = str(tmp_path / arms[0][key])
    return arms


async def test_the_examples_do_what_the_page_says(
    connect: ClientMaker, start_service: Callable[..., RunningService], settings: list[dict[str, Any]]
) -> None:
    client = await connect(to=start_service("r12", arm=settings))
    for system in SYSTEMS:
        for method, params, wanted in example(system):
            reply = await client.call("r12", method, params)
            assert_holds(reply, wanted, f"{system}: {method} {params}: {reply}")


def test_each_row_of_the_table_has_its_test() -> None:
    rows = re.findall(r"^\| .*\| `(test_\w+)` \|$", TABLE, re.MULTILINE)
    tests = (ROOT / "tests" / "journey" / "test_limits_layers.py").read_text()
    assert len(rows) == len(set(rows)) == 10
    for name in rows:
        assert f"async def {name}(" in tests
