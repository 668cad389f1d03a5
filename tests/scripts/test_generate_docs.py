import subprocess
import sys
from pathlib import Path

from handlers.rpc_table import RPC_TABLE
from schema.errors import ERRORS
from schema.events import EVENTS
from schema.warnings import WARNINGS

ROOT = Path(__file__).resolve().parents[2]


def pages(folder: Path) -> tuple[str, str]:
    subprocess.run([sys.executable, "-m", "scripts.generate_docs", folder], cwd=ROOT, check=True)
    return (folder / "docs/rpcs.md").read_text(), (folder / "docs/errors.md").read_text()


def test_every_row_of_every_table_has_its_line(tmp_path: Path) -> None:
    rpcs, errors = pages(tmp_path)
    for name in RPC_TABLE:
        assert rpcs.count(f"\n| `{name}` |") == 1
    rows = [*ERRORS, *WARNINGS, *EVENTS]
    for name in rows:
        assert errors.count(f"\n| `{name}` |") == rows.count(name)


def test_a_line_holds_what_the_table_says(tmp_path: Path) -> None:
    rpcs, errors = pages(tmp_path)
    assert (
        "| `ResetTwistAngularSoftLimit` | `ControlModeInformation` | `TwistAngularSoftLimit` | write | "
        "`twist_angular_soft_limit` | `deg` | `TWIST_ANGULAR_SOFT_LIMIT_CHANGED` |" in rpcs
    )
    assert "| `busy` | 3 ERROR_DEVICE | 51 DEVICE_NOT_READY | `same_id` |" in errors
    assert "| `HANDLE_EXPIRED` | `ntf/<user>/<conn>/<handle>` |  |" in errors
