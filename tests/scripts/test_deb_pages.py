"""Man pages and completions of the Debian package."""

import shutil
import subprocess
from pathlib import Path

import pytest

from armbroker.cli.exits import Exit
from broker.settings.environment import VARIABLES
from scripts.deb_commands import commands
from scripts.deb_pages import write

MAN_1, MAN_5 = "usr/share/man/man1/armbroker.1", "usr/share/man/man5/fleet.toml.5"
BASH, ZSH = "usr/share/bash-completion/completions/armbroker", "usr/share/zsh/vendor-completions/_armbroker"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all."""
    folder = tmp_path_factory.mktemp("pages")
    write(folder, "1.2.3")
    return folder


def shown(page: Path) -> str:
    """A page as people see it, without marks; every warning of roff is an error."""
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is missing")
    command = [groff, "-man", "-ww", "-Tascii", "-P-cbou", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_the_page_of_the_command_has_every_command_option_and_exit_code(pages: Path) -> None:
    text = shown(pages / MAN_1)
    for entry in commands():
        assert " ".join(("armbroker", *entry.path)) in text
        for option in entry.options:
            assert option.names[0] in text
    for code in Exit:
        assert f"\n       {code.value} " in text
    assert "armbroker 1.2.3" in text
    assert "armbroker call r12 SetGravityVector '{\"z\":-9.81}' --dry-run" in text


def test_the_page_of_the_settings_has_every_setting_with_its_default(pages: Path) -> None:
    text = shown(pages / MAN_5)
    for part in (
        'url (text, default "mqtt://127.0.0.1:1883")',
        "[[arm]]",
        "[clients.NAME]",
        "[arm.checks]",
        "was (text",
    ):
        assert part in text
    folded = text.replace("\n", "").replace(" ", "")
    for name in VARIABLES:
        assert name.rpartition("_")[2].lower() in text.lower()
        assert name in folded


def completed(pages: Path, *words: str) -> set[str]:
    """What bash offers for the last of some words."""
    quoted = " ".join(f"'{word}'" for word in ("armbroker", *words))
    script = (
        f'source "$1"; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _armbroker; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    command = ["bash", "--norc", "-c", script, "bash", str(pages / BASH)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("sto",), {"store"}),
        (("store", "v"), {"vacuum"}),
        (("call", "r12", "SetGrav"), {"SetGravityVector"}),
        (("run", "--acc"), {"--accept-lost-history"}),
        (("run", "--log-level", ""), {"debug", "info", "warning", "error"}),
        (("run", "--config", "x"), set()),
        (("limits", "show", "--from", "ro"), {"ros"}),
        (("audit", "--hel"), {"--help"}),
    ],
)
def test_bash_offers_what_fits(pages: Path, words: tuple[str, ...], offered: set[str]) -> None:
    assert completed(pages, *words) == offered


def test_bash_offers_every_command(pages: Path) -> None:
    whole, *_ = commands()
    assert completed(pages, "") >= set(whole.below)


def test_zsh_offers_what_fits(pages: Path) -> None:
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("zsh is missing")
    script = """
    compadd() { shift; print -l -- "$@" }
    _files() { print FILES }
    source $1
    words=(armbroker store ''); CURRENT=3; _armbroker
    words=(armbroker run --config ''); CURRENT=4; _armbroker
    """
    command = [zsh, "-f", "-c", script, "zsh", str(pages / ZSH)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.split() == ["set-time", "vacuum", "--help", "FILES", "FILES"]
