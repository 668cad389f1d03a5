"""The password file may be exchanged while the service runs."""

from pathlib import Path

import pytest

from broker.settings import SettingsError, from_document
from broker.settings.password import Password


def test_the_file_is_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("old\n")
    password = Password(from_document({"mqtt": {"password_file": str(file)}}))
    assert password() == "old"
    file.write_text("new\n")
    assert password() == "new"


def test_while_it_cannot_be_read_the_last_one_counts(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("old\n")
    password = Password(from_document({"mqtt": {"password_file": str(file)}}))
    file.unlink()
    assert password() == "old"
    file.write_text("new\n")
    assert password() == "new"


def test_at_first_it_has_to_be_there(tmp_path: Path) -> None:
    settings = from_document({"mqtt": {"password_file": str(tmp_path / "none")}})
    with pytest.raises(SettingsError, match="password_file"):
        Password(settings)


def test_without_a_file_there_is_none() -> None:
    assert Password(from_document({}))() == ""
