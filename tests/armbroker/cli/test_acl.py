"""Access rules by the settings: what is written, and what cannot be."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from armbroker.cli.acl_rules import Account, accounts, rule_faults, text
from armbroker.cli.acl_site import site_faults
from armbroker.cli.commands import app
from armbroker.cli.exits import Exit
from broker.settings import from_document, load
from tests.mosquitto import SHIPPED

FLEET = """\
[mqtt]
user = "svc"

[clients.bob]
[clients.alice]
[clients.wall]
requests = false

[[arm]]
id = "r2"
adapter = "mqtt_agent"
[[arm]]
id = "r1"
"""


def settings(**document: Any) -> Any:
    return from_document({"mqtt": {"user": "svc"}, **document})


def test_the_shipped_rules_are_those_of_the_shipped_settings() -> None:
    shipped = load(SHIPPED.parent / "fleet.toml", {})
    assert text(shipped, "fleet.toml") == (SHIPPED / "armbroker.acl").read_text()


def test_the_same_settings_give_the_same_rules_in_any_order() -> None:
    clients = {"b": {}, "a": {"requests": False}, "r2": {}}
    arms = [{"id": arm, "adapter": "mqtt_agent"} for arm in ("r2", "r1")]
    one = settings(clients=clients, arm=arms)
    two = settings(clients=dict(reversed(clients.items())), arm=arms[::-1])
    assert text(one, "x") == text(two, "x")


def test_groups_are_read_by_who_reads_each_of_their_arms() -> None:
    arms = [{"id": "r1", "groups": ["cell", "line"]}, {"id": "r2", "groups": ["line"]}]
    clients = {"*": {"reads": []}, "ann": {"reads": ["@cell"]}, "bob": {"reads": ["@all"]}, "eve": {"reads": ["r?"]}}
    rules = text(settings(clients=clients, arm=arms), "x").splitlines()
    root = "armbroker/v1"
    assert [line for line in rules if f"{root}/state/@" in line] == [
        f"topic read {root}/state/@cell/+", f"topic read {root}/state/@cell/+", f"topic read {root}/state/@line/+",
    ]  # fmt: skip
    assert f"topic read {root}/evt/+/#" in rules
    assert not any("evt/@" in line or "factsheet/@" in line for line in rules)


def test_accounts_are_listed_once_each() -> None:
    arms = [{"id": "r2", "adapter": "mqtt_agent"}, {"id": "r1"}]
    found = accounts(settings(clients={"b": {}, "a": {"requests": False}, "r2": {}, "*": {}}, arm=arms))
    assert found == [Account("svc", "service"), Account("a", "monitor"), Account("b", "client"), Account("r2", "arm")]


@pytest.mark.parametrize(
    ("document", "path", "why"),
    [
        ({"mqtt": {}}, ("mqtt", "user"), "mqtt.user: is missing"),
        ({"mqtt": {"user": "a/b"}}, ("mqtt", "user"), "'a/b' cannot stand in a topic"),
        ({"mqtt": {"user": "+"}}, ("mqtt", "user"), "'+' cannot stand in a topic"),
        ({"mqtt": {"user": "s#"}}, ("mqtt", "user"), "'s#' cannot stand in a topic"),
        ({"mqtt": {"user": "a b"}}, ("mqtt", "user"), "'a b' cannot stand in a topic"),
        ({"clients": {"svc": {}}}, ("clients", "svc"), "clients.svc: is the user of the service"),
        ({"arm": [{"id": "svc", "adapter": "mqtt_agent"}]}, ("mqtt", "user"), "'svc' is the account of an arm, too"),
    ],
)
def test_what_no_rule_can_say_is_named(document: dict[str, Any], path: tuple[str, ...], why: str) -> None:
    [fault] = rule_faults(settings(**document))
    assert fault.path == path
    assert why in fault.text


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["acl", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_rules_and_users_are_shown_or_written(tmp_path: Path) -> None:
    config = tmp_path / "fleet.toml"
    config.write_text(FLEET)
    code, shown, _ = run("--config", str(config))
    assert code == Exit.OK
    assert run("--config", str(config), "--users")[1] == "svc service\nalice client\nbob client\nwall monitor\nr2 arm\n"
    assert run("--config", str(config), "--out", str(tmp_path))[0] == Exit.OK
    assert (tmp_path / "armbroker.acl").read_text() == shown
    assert (tmp_path / "armbroker.users").read_text().startswith("svc service\n")
    assert not list(tmp_path.glob("*.new"))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('user = "svc"', 'user = "s+"', ":2: mqtt.user: 's+' cannot stand"),
        ("[clients.bob]", '[clients."b/b"]', ":4: clients.\"b/b\": 'b/b' is no user"),
        ("[clients.bob]", '[clients."#"]', ':4: clients."#"'),
        ('id = "r1"', 'id = "+"', ":13: arm.id: '+' is no arm id"),
        ("requests = false", "requests = 1", ":7: clients.wall.requests: expected `bool | null`, got `int`"),
        ("requests = false", 'reads = ["r3"]', ":7: clients.wall.reads[0]: no arm 'r3'"),
        ("requests = false", 'reads = ["r1"]', ':7: clients.wall.reads: clients."*".reads is missing'),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_nothing_is_written(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    config = tmp_path / "fleet.toml"
    config.write_text(FLEET.replace(old, new))
    code, shown, told = run("--config", str(config), "--out", str(tmp_path))
    assert (code, shown) == (Exit.USAGE, "")
    assert f"{config}{why}" in told
    assert list(tmp_path.iterdir()) == [config]


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    config = tmp_path / "fleet.toml"
    config.write_text(FLEET)
    code, _, told = run("--config", str(config), "--out", str(tmp_path / "none"))
    assert code == Exit.USAGE
    assert "No such file" in told


SITE = """\
# Home Assistant's
user hass
topic readwrite homeassistant/#
topic read $SYS/#
pattern write other/%u/x
topic deny armbroker/#
"""


def test_rules_of_the_site_stand_behind_ours(tmp_path: Path) -> None:
    config, more = tmp_path / "fleet.toml", tmp_path / "site.acl"
    config.write_text(FLEET)
    more.write_text(SITE)
    code, shown, _ = run("--config", str(config), "--more", str(more))
    assert code == Exit.OK
    assert shown == run("--config", str(config))[1] + f"\n# Of the site: site.acl.\n{SITE}"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("topic read a/#", "stands before any user"),
        ("user x\ntopic read #", "would open topics below plant/a"),
        ("user x\ntopic readwrite plant/#", "would open topics below plant/a"),
        ("user x\ntopic plant/a/v1/req/#", "would open topics below plant/a"),
        ("user x\ntopic write +/a/v1/state/+/+", "would open topics below plant/a"),
        ("pattern write plant/+/v1/req/%c/#", "would open topics below plant/a"),
        ("pattern write %u/%c/v1/state/x/config", "would open topics below plant/a"),
        ("user", "is no rule"),
        ("allow everything", "is no rule"),
    ],
)
def test_rules_of_the_site_do_not_open_ours(line: str, why: str) -> None:
    [(number, text)] = site_faults(line, "plant/a")
    assert why in text
    assert number == line.count("\n") + 1


@pytest.mark.parametrize("topic", ["plant", "plant/b/#", "plant/+", "other/#", "plant/a", "$SYS/#"])
def test_other_topics_are_the_sites_own(topic: str) -> None:
    assert site_faults(f"user x\ntopic readwrite {topic}", "plant/a") == []


def test_a_rule_of_the_site_that_cannot_be_is_told_with_its_line(tmp_path: Path) -> None:
    config, more = tmp_path / "fleet.toml", tmp_path / "site.acl"
    config.write_text(FLEET)
    more.write_text("# ours\nuser x\ntopic read #\n")
    code, shown, told = run("--config", str(config), "--more", str(more))
    assert (code, shown) == (Exit.USAGE, "")
    assert f"{more}:3: 'topic read #' would open topics below armbroker" in told
