"""Who a command is: options, profiles and the environment, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from armbroker.cli.profiles import VARIABLES, Profile, ProfileError, chosen, profiles_path
from broker.settings.environment import TOOLS
from broker.settings.environment import VARIABLES as OF_THE_SERVICE

FILE = """\
[default]
user = "dora"

[hall-2]
url = "mqtts://plant.example"
user = "alice"
password_file = "hall-2.password"
ca_file = "/etc/ca.crt"
cert_file = "~/alice.crt"
conn = "alice-1"
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user with profiles."""
    environment = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    path = profiles_path(environment)
    path.parent.mkdir(parents=True)
    path.write_text(FILE)
    return environment


def test_without_anything_the_built_in_values_count(tmp_path: Path) -> None:
    assert chosen({}, None, {"HOME": str(tmp_path)}) == Profile()


def test_the_default_profile_counts_where_none_is_named(home: dict[str, str]) -> None:
    assert chosen({}, None, home) == Profile(user="dora")
    assert chosen({"user": None}, None, home).user == "dora"


def test_a_named_profile_counts_whole_and_its_files_from_its_folder(
    home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", home["HOME"])
    expected = Profile(
        url="mqtts://plant.example", user="alice", conn="alice-1", ca_file="/etc/ca.crt",
        password_file=f"{home['XDG_CONFIG_HOME']}/armbroker/hall-2.password", cert_file=f"{home['HOME']}/alice.crt",
    )  # fmt: skip
    assert chosen({}, "hall-2", home | {"ARMBROKER_MQTT_USER": "eve"}) == expected
    assert chosen({}, None, home | {"ARMBROKER_PROFILE": "hall-2"}) == expected


def test_options_come_first_then_the_environment(home: dict[str, str]) -> None:
    environment = home | {"ARMBROKER_MQTT_USER": "eve", "ARMBROKER_ROOT": "site/a", "ARMBROKER_CONN": ""}
    assert chosen({"user": "bob"}, None, environment) == Profile(user="bob", root="site/a")
    assert chosen({}, None, environment | {"ARMBROKER_PROFILE": "hall-2"}).user == "eve"


@pytest.mark.parametrize("setting", list(VARIABLES))
def test_every_setting_has_a_variable_which_means_the_same_to_the_service(home: dict[str, str], setting: str) -> None:
    variable = VARIABLES[setting]
    assert getattr(chosen({}, None, home | {variable: "x"}), setting) == "x"
    assert variable in OF_THE_SERVICE or variable in TOOLS


def test_the_folder_is_that_of_the_user() -> None:
    assert profiles_path({"HOME": "/home/a"}) == Path("/home/a/.config/armbroker/profiles.toml")
    assert profiles_path({"HOME": "/home/a", "XDG_CONFIG_HOME": "relative"}) == profiles_path({"HOME": "/home/a"})
    assert profiles_path({"XDG_CONFIG_HOME": "/x"}) == Path("/x/armbroker/profiles.toml")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[a]\nuser = 1\n", ":2: a.user: expected `str`, got `int`"),
        ('[a]\n\nusr = "x"\n', ":3: a.usr: no such setting; known here are url, user, conn, "),
        ('user = "x"\n', ":1: user: expected a table, got 'x'"),
        ("[a\n", ":1: "),
        ("\xff", "profile"),
    ],
)
def test_what_has_no_place_is_told_with_its_line(home: dict[str, str], text: str, why: str) -> None:
    profiles_path(home).write_text(text)
    with pytest.raises(ProfileError) as caught:
        chosen({}, "a", home)
    assert f"{profiles_path(home)}" in str(caught.value)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"profile": "hall2"}, "no profile 'hall2'; did you mean 'hall-2'?"),
        ({"environment": {"ARMBROKER_PROFILE": "hall2"}}, "no profile 'hall2'"),
    ],
)
def test_a_profile_that_is_none_is_named(home: dict[str, str], how: dict[str, Any], why: str) -> None:
    with pytest.raises(ProfileError) as caught:
        chosen({}, how.get("profile"), home | how.get("environment", {}))
    assert why in str(caught.value)


def test_a_named_profile_needs_the_file(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="no such file"):
        chosen({}, "hall-2", {"HOME": str(tmp_path)})
