"""What the commands load: a start is fast because nothing is loaded that the command does not need."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mosquitto import ROOT

ARM = ROOT / "docs" / "examples" / "arm.urdf"
MQTT = ("aiomqtt", "paho", "mqttium")
WIRE = (
    "google.protobuf",
    "msgpack",
    "sqlite3",
    "structlog",
    "broker.settings",
    "armbroker.client",
    "http",
    "urllib.request",
)
LOADED = """
import sys
from armbroker.__main__ import main
sys.argv = ["armbroker", *{arguments!r}]
try:
    main()
finally:
    print(*sorted(set({names!r}) & set(sys.modules)), file=sys.stderr)
"""


def loaded(names: tuple[str, ...], *arguments: str) -> list[str]:
    """Which of these modules a command loads."""
    code = LOADED.format(arguments=arguments, names=names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stderr.splitlines()[-1].split()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["limits", "check", str(ARM)], (*MQTT, *WIRE, "yaml", "matplotlib")),
        (["limits", "show", str(ARM.with_name("joint_limits.yaml"))], (*MQTT, *WIRE)),
        (["limits", "--help"], (*MQTT, *WIRE, "numpy", "yaml")),
        (["--help"], (*MQTT, *WIRE, "numpy")),
        (["call", "--help"], (*MQTT, "numpy")),
    ],
)
def test_a_command_loads_what_it_needs(arguments: list[str], names: tuple[str, ...]) -> None:
    assert loaded((*names, "typer"), *arguments) == ["typer"]


def test_the_probe_sees_what_is_loaded(tmp_path: Path) -> None:
    names = ("google.protobuf", "numpy", "yaml")
    target = str(tmp_path / "arm.json")
    assert loaded(names, "limits", "convert", str(ARM), target, "--to", "skeleton", "--lossy") == [*names[:2]]
