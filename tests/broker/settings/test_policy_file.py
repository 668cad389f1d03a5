"""Reading `policy.toml`: whole, or not at all."""

from pathlib import Path

import pytest

from broker.settings import Settings, SettingsError, from_document
from broker.settings.policy_file import BYTES_MOST, compiled, groups_of, load_policy, policy_doubts, read_policy
from broker.settings.policy_records import RuleText
from handlers.policy.rights import PolicyRight
from handlers.policy.rules import Rate

WHOLE = """\
timezone = "Europe/Berlin"
proposal_age = "12h"
[roles]
operator = ["bob", "hmi-*"]
engineer = ["alice"]
[rates]
"*" = "30/min"
engineer = "5/s"
[[rule]]
name = "slower is for everybody"
roles = ["*"]
allow = ["tighten", "hold"]
[[rule]]
name = "engineers loosen"
roles = ["engineer"]
arms = ["r12"]
items = ["twist_linear_soft_limit"]
allow = ["loosen"]
ceilings = { twist_linear = 0.25, payload_mass = 2 }
hours = ["Mon-Fri 06:00-22:00"]
at_most = "1h"
"""


def written(tmp_path: Path, text: str) -> Path:
    """A file with this text."""
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(tmp_path: Path, text: str) -> list[str]:
    """What is wrong with a text, without the name of its file."""
    path = written(tmp_path, text)
    with pytest.raises(SettingsError) as refused:
        read_policy(path)
    return [line.removeprefix(f"{path}:") for line in str(refused.value).splitlines()]


def test_a_whole_file(tmp_path: Path) -> None:
    policy = compiled(read_policy(written(tmp_path, WHOLE)), {})
    slower, loosen = policy.rules
    assert slower.name == "slower is for everybody"
    assert slower.roles == {"*"}
    assert slower.arms is slower.items is None
    assert slower.rights == {PolicyRight.TIGHTEN, PolicyRight.HOLD}
    assert loosen.arms == frozenset({"r12"})
    assert loosen.items == frozenset({"twist_linear_soft_limit"})
    assert loosen.ceilings == {"twist_linear": 0.25, "payload_mass": 2.0}
    assert [span.text for span in loosen.hours] == ["Mon-Fri 06:00-22:00"]
    assert (loosen.at_most_us, loosen.at_most, loosen.two_person) == (3_600_000_000, "1h", False)
    assert (str(policy.zone), policy.proposal_age_us) == ("Europe/Berlin", 12 * 3_600_000_000)
    assert policy.roles_of("hmi-3") == {"operator"}
    assert (policy.rate_of("bob"), policy.rate_of("alice")) == (Rate(30, 0.5), Rate(5, 5))


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    first, again, other = (read_policy(written(tmp_path, text)).digest for text in (WHOLE, WHOLE, WHOLE + "#"))
    assert first == again != other
    assert len(first) == 16


def test_an_empty_file_allows_nothing_and_says_so(tmp_path: Path) -> None:
    read = read_policy(written(tmp_path, ""))
    assert compiled(read, {}).rules == ()
    (doubt,) = policy_doubts(read, (), ())
    assert doubt.endswith("policy.toml: there is no rule, so that nobody may change anything")


def test_groups_become_their_arms(tmp_path: Path) -> None:
    rule = '[[rule]]\nname = "{name}"\nroles = ["*"]\nallow = ["hold"]\ngroups = {groups}\n'
    text = rule.format(name="cells", groups='["cell-4", "cell-5"]') + rule.format(name="all", groups='["all", "x"]')
    groups = {"cell-4": ["r1", "r2"], "cell-6": ["r3"]}
    read = read_policy(written(tmp_path, text))
    cells, every = compiled(read, groups).rules
    assert cells.arms == frozenset({"r1", "r2"})
    assert every.arms is None
    doubts = [doubt.removeprefix(str(tmp_path)) for doubt in policy_doubts(read, ["r1"], groups)]
    assert doubts == [
        "/policy.toml:5: rule \"cells\": groups: no group 'cell-5'; did you mean 'cell-4'?",
        "/policy.toml:10: rule \"all\": groups: no group 'x'",
    ]


def test_an_arm_that_is_not_there_is_doubtful(tmp_path: Path) -> None:
    (doubt,) = policy_doubts(read_policy(written(tmp_path, WHOLE)), ["r1"], ())
    assert doubt.endswith("policy.toml:16: rule \"engineers loosen\": arms: no arm 'r12'; did you mean 'r1'?")


EVERY_FAULT = """\
timezone = "Europe/Berln"
proposal_age = "30s"
[roles]
operator = ["bob", "hm*i"]
"*" = ["x"]
"a b" = []
[rates]
"*" = "30/fortnight"
boss = "3/s"
operator = "0/s"
[[rule]]
name = "a"
roles = ["*"]
allow = ["tighten", "hold"]
two_person = true
[[rule]]
name = "b"
roles = ["engineer"]
groups = []
arms = ["r/1"]
items = ["twist_linear"]
allow = ["loosn", "loosen"]
ceilings = { twist_linear = -0.25, payload_mas = 2.0, velocity = inf, position_lower = -1 }
hours = ["Mon-Fri 06:00-22:60"]
at_most = "31d"
[[rule]]
name = "a"
roles = []
allow = []
items = []
[[rule]]
name = " x"
roles = ["*"]
allow = ["hold"]
at_most = "soon"
"""


def test_every_fault_is_told_with_its_line_its_rule_and_its_key(tmp_path: Path) -> None:
    found = faults(tmp_path, EVERY_FAULT)
    assert [":".join(line.split(":", 2)[:2]) for line in found] == [
        "1: timezone", "2: proposal_age", "4: roles.operator[1]", '5: roles."*"', '6: roles."a b"', '8: rates."*"',
        "9: rates.boss", "10: rates.operator", '15: rule "a"', '18: rule "b"', '19: rule "b"', '20: rule "b"',
        '20: rule "b"', '21: rule "b"', '22: rule "b"', '23: rule "b"', '23: rule "b"', '23: rule "b"', '24: rule "b"',
        '25: rule "b"', "27: rule[2].name", '28: rule "a"', '29: rule "a"', '30: rule "a"', "32: rule[3].name",
        '35: rule " x"', '35: rule " x"',
    ]  # fmt: skip
    rest = {line.split(": ", 2)[-1] for line in found}
    assert (
        "two_person: counts for what loosens: a rule with it allows loosen, or tighten and loosen, and nothing else"
        in rest
    )
    assert "ceilings.velocity: inf is not finite" in rest
    assert "at_most: 31d is not between 1s and 30d" in rest
    assert any(text.startswith("allow[0]: no such name 'loosn'; there are read, tighten") for text in rest)
    assert any(text.endswith("did you mean 'payload_mass'?") for text in rest)


def test_wrong_types_and_what_is_missing_are_told_together_with_the_rest(tmp_path: Path) -> None:
    text = '[[rule]]\nname = "a"\nroles = 5\n[[rule]]\nname = "b"\nroles = ["*"]\nallow = ["fly"]\n[[rule]]\nfoo = 1\n'
    found = faults(tmp_path, text)
    assert found == [
        '1: rule "a": allow: missing',
        '3: rule "a": roles: expected `array`, got `int`',
        "7: rule \"b\": allow[0]: no such name 'fly'; there are " + ", ".join(PolicyRight),
        "8: rule[2].name: missing",
        "8: rule[2].roles: missing",
        "8: rule[2].allow: missing",
        f"9: rule[2].foo: no such setting; known here are {', '.join(RuleText.__struct_fields__)}",
    ]


def test_where_the_roles_cannot_be_read_no_rule_is_blamed_for_them(tmp_path: Path) -> None:
    text = '[roles]\nengineer = 1\n[[rule]]\nname = "a"\nroles = ["engineer"]\nallow = ["hold"]\n'
    assert faults(tmp_path, text) == ["2: roles.engineer: expected `array`, got `int`"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rule = 1", "1: rule: expected `array`, got `int`"),
        ("rule = [1]", "1: rule[0]: expected a table, got 1"),
        ("tiemzone = 'UTC'", "1: tiemzone: no such setting; known here are timezone, proposal_age, roles, rates, rule"),
        ("a = ", "1: Invalid value"),
        ('timezone = "/etc/passwd"', "1: timezone: '/etc/passwd' is no time zone"),
        ('timezone = "../UTC"', "1: timezone: '../UTC' is no time zone"),
        ('timezone = "Europe"', "1: timezone: 'Europe' is no time zone"),
        ('proposal_age = "1"', "1: proposal_age: '1' is no duration"),
        ('proposal_age = "169h"', "1: proposal_age: 169h is not between 1min and 7d"),
    ],
)
def test_faults_of_the_whole_file(tmp_path: Path, text: str, expected: str) -> None:
    (found,) = faults(tmp_path, text)
    assert found.startswith(expected)


def test_no_more_than_a_thousand_rules_and_256_kib(tmp_path: Path) -> None:
    rules = "".join(f'[[rule]]\nname = "{n}"\nroles = ["*"]\nallow = ["hold"]\n' for n in range(1_001))
    assert faults(tmp_path, rules) == ["4001: rule: 1001 rules, at most 1,000 are taken"]
    read_policy(written(tmp_path, rules[: rules.rindex("[[rule]]")]))
    path = written(tmp_path, "#" * (BYTES_MOST + 1))
    with pytest.raises(SettingsError, match="262,145 bytes, at most 262,144 are read"):
        read_policy(path)


def settings(file: Path | str, identity: str = "none") -> Settings:
    """Settings that name a policy."""
    return from_document(
        {"policy": {"file": str(file)}, "mqtt": {"identity": identity}, "arm": [{"id": "r12", "model": "gen3_7dof"}]}
    )


def test_settings_name_the_file(tmp_path: Path) -> None:
    assert load_policy(settings("")) is None
    policy = load_policy(settings(written(tmp_path, WHOLE)))
    assert policy is not None
    assert len(policy.rules) == 2
    with pytest.raises(SettingsError, match="No such file"):
        load_policy(settings(tmp_path / "none.toml"))


def test_two_persons_need_a_server_that_proves_who_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE + "two_person = true\n")
    read_policy(path)
    with pytest.raises(SettingsError, match=r':22: rule "engineers loosen": two_person: needs mqtt.identity'):
        load_policy(settings(path))
    policy = load_policy(settings(path, "server-acl"))
    assert policy is not None
    assert policy.proposes


def test_groups_of_settings() -> None:
    assert groups_of(settings("")) == {"all": ("r12",)}
    arms = [{"id": arm, "model": "gen3_7dof", "groups": groups} for arm, groups in (("r1", ["a"]), ("r2", ["a", "b"]))]
    assert groups_of(from_document({"arm": arms})) == {"a": ("r1", "r2"), "b": ("r2",), "all": ("r1", "r2")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a = " + "[" * 2000 + "]" * 2000, "nested too deep"), (f"a = {'9' * 5000}", "an integer has too many digits")],
)
def test_what_the_parser_gives_up_on_is_a_fault_of_the_file(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "hostile.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=rf"hostile\.toml: {expected}"):
        read_policy(file)
