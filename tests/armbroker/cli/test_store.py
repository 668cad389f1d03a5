"""`armbroker backup`, `restore` and `store`, as commands."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from armbroker.cli.commands import app
from armbroker.cli.exits import Exit
from broker.store.store import FILE, Store

YEAR_2100_US = 4_102_444_800_000_000


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A store that served once, in the year 2100."""
    store = Store.open(tmp_path / "data", lambda: YEAR_2100_US)
    store.load()
    store.close()
    return tmp_path / "data"


def test_help_has_examples() -> None:
    for command in (("backup",), ("restore",), ("store", "set-time")):
        assert f"armbroker {' '.join(command)} " in run(*command, "--help").output


def test_a_backup_of_a_served_store_and_a_restore(data: Path, tmp_path: Path) -> None:
    served = Store.open(data, lambda: 0)
    served.load()
    made = run("backup", tmp_path / "copy", "--data", data)
    assert made.exit_code == Exit.OK
    assert "in epoch 2" in made.output
    refused = run("restore", tmp_path / "copy", "--data", data)
    assert refused.exit_code == Exit.NO_SERVER
    assert "end the service first" in refused.output
    served.close()
    settings = tmp_path / "fleet.toml"
    settings.write_text(f'[store]\ndir = "{data}"\n')
    restored = run("restore", tmp_path / "copy", "--config", settings)
    assert restored.exit_code == Exit.OK
    assert "the next start is in an epoch above 1002" in restored.output
    assert "ConfirmPending" in restored.output
    (kept,) = data.glob("replaced-*")
    assert str(kept) in restored.output
    assert (kept / FILE).exists()
    again = Store.open(data, lambda: 0)
    assert again.load().epoch == 1003
    again.close()


def test_what_cannot_be_done_is_said_with_an_exit_code(data: Path, tmp_path: Path) -> None:
    for arguments, code, why in (
        (("backup", data, "--data", data), Exit.REFUSED, "is not empty"),
        (("backup", tmp_path / "copy", "--data", tmp_path / "no"), Exit.REFUSED, "does not exist"),
        (("restore", tmp_path / "no", "--data", data), Exit.REFUSED, "is no whole backup"),
        (("backup", tmp_path / "copy", "--config", tmp_path / "no.toml"), Exit.USAGE, "no.toml"),
        (("store", "set-time", data, "yesterday"), Exit.USAGE, "yesterday"),
        (("store", "set-time", data, "2101-01-01T00:00:00Z"), Exit.REFUSED, "has told no later time than 2100"),
        (("store", "set-time", tmp_path / "no"), Exit.REFUSED, "does not exist"),
    ):
        result = run(*arguments)
        assert (result.exit_code, why in result.output) == (code, True), result.output


def test_set_time_takes_back_what_a_wrong_clock_wrote(data: Path) -> None:
    result = run("store", "set-time", data)
    assert result.exit_code == Exit.OK
    assert "the time was 2100-01-01T00:00:00.000000Z, and is 20" in result.output
    assert run("store", "set-time", data, "2026-01-01T00:00:00Z").exit_code == Exit.OK
