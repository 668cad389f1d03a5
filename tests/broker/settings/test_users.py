"""What the settings say of users."""

from typing import Any

import pytest

from broker.settings import Groups, SettingsError, Users, doubts, from_document, quick
from broker.settings.users import matched
from handlers.rpc.row import Right

ARMS: list[dict[str, Any]] = [
    {"id": "cell-1", "groups": ["cells"]}, {"id": "cell-2", "groups": ["cells", "odd"]}, {"id": "Bell-1"},
    {"id": "r.12", "groups": ["odd"]}, {"id": "rx12"},
]  # fmt: skip
ALL = frozenset(arm["id"] for arm in ARMS)


def users(**clients: Any) -> Users:
    return Users(from_document({"clients": clients, "arm": ARMS}))


def test_without_an_entry_a_user_reads_only() -> None:
    of = users(alice={"rights": ["write"]})
    assert of.grant("bob").on("cell-1") == frozenset()
    assert of.grant("alice").on("cell-1") == {Right.WRITE}
    assert of.grant("Alice").on("cell-1") == frozenset()


def test_an_entry_grants_writes_on_all_arms_unless_told() -> None:
    of = users(plc={"clock": "none"})
    assert of.grant("plc").arms == ALL
    assert of.grant("plc").rights == {Right.WRITE}


def test_what_an_entry_leaves_out_is_as_for_anybody() -> None:
    of = users(**{"*": {"arms": ["cell-?"], "rights": ["confirm"], "replies": "short"}}, plc={"clock": "none"})
    for user in ("plc", "somebody"):
        assert of.grant(user).on("cell-2") == {Right.CONFIRM}
        assert of.grant(user).on("r.12") == frozenset()
        assert of.wants_short(user)
    assert (of.has_clock("plc"), of.has_clock("somebody")) == (False, True)


def test_an_entry_counts_before_anybodys() -> None:
    of = users(**{"*": {"rights": ["write", "authority"]}}, bob={"rights": []}, ann={"arms": []})
    assert of.grant("bob").on("cell-1") == frozenset()
    assert of.grant("ann").on("cell-1") == frozenset()
    assert of.grant("eve").on("cell-1") == {Right.WRITE, Right.AUTHORITY}


def test_the_account_of_an_arm_has_nothing_but_what_its_own_entry_says() -> None:
    of = users(**{"*": {}})
    assert of.grant("cell-1").on("cell-2") == frozenset()
    assert of.grant("CELL-1").on("cell-2") == {Right.WRITE}
    of = users(**{"*": {}, "cell-1": {"arms": ["cell-2"]}})
    assert of.grant("cell-1").arms == {"cell-2"}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("cell-1", {"cell-1"}),
        ("cell-*", {"cell-1", "cell-2"}),
        ("*ell-1", {"cell-1", "Bell-1"}),
        ("r?12", {"r.12", "rx12"}),
        ("r.12", {"r.12"}),
        ("*", ALL),
        ("cell", set()),
        ("??", set()),
    ],
)
def test_patterns_match_whole_ids_byte_for_byte(pattern: str, expected: set[str]) -> None:
    assert matched(pattern, Groups(from_document({"arm": ARMS}))) == expected


def test_patterns_that_match_nothing_are_named() -> None:
    settings = from_document({"clients": {"a": {"arms": ["x*", "cell-*"]}, "*": {"arms": ["?"]}}, "arm": ARMS})
    assert doubts(settings) == ["clients.a.arms: no arm matches 'x*'", "clients.*.arms: no arm matches '?'"]
    assert doubts(from_document({"arm": ARMS})) == [
        "clients: nobody is granted anything, so that every user may read only"
    ]


def test_whether_anybody_writes() -> None:
    assert users().nobody_writes
    assert users(a={"arms": ["x*"]}, b={"rights": []}).nobody_writes
    assert not users(**{"*": {}}).nobody_writes


def test_the_quick_form_lets_everybody_do_everything(tmp_path: Any) -> None:
    of = Users(quick("mqtt://127.0.0.1", tmp_path, 2))
    assert of.grant("anybody").on("sim-0001") == frozenset(Right)
    assert not of.any_short


def test_rights_count_on_the_arms_that_are_read() -> None:
    ann = {"reads": ["cell-?", "Bell-1"], "arms": ["*"]}
    of = users(**{"*": {"reads": ["Bell-1"]}}, ann=ann, bob={"arms": ["cell-1"]})
    assert of.restricted
    assert of.grant("ann").arms == {"cell-1", "cell-2", "Bell-1"}
    assert of.grant("ann").reads == frozenset({"cell-1", "cell-2", "Bell-1"})
    assert of.grant("bob").reads == of.grant("eve").reads == frozenset({"Bell-1"})
    assert of.grant("bob").on("cell-1") == frozenset()
    assert not of.grant("ann").may_read("rx12")


def test_groups_stand_for_their_arms() -> None:
    of = users(**{"*": {"reads": []}}, ann={"reads": ["@cells", "rx12"], "arms": ["@odd"]}, bob={"reads": ["@all"]})
    assert of.grant("ann").reads == frozenset({"cell-1", "cell-2", "rx12"})
    assert of.grant("ann").arms == {"cell-2"}
    assert of.grant("bob").reads == ALL


def test_a_monitor_asks_for_nothing() -> None:
    of = users(wall={"requests": False})
    assert of.restricted
    assert not of.grant("wall").may_read("cell-1")
    assert of.grant("eve").may_read("cell-1")
    assert not users(ann={}).restricted


@pytest.mark.parametrize(
    ("clients", "why"),
    [
        ({"ann": {"reads": ["cell-1"]}}, 'clients.ann.reads: clients."*".reads is missing: which arms everybody else'),
        (
            {"*": {"reads": ["cell-?"]}, "ann": {"reads": ["cell-1"]}},
            'clients.ann.reads: leaves out cell-2, which clients."*".reads gives to everybody',
        ),
        ({"*": {"reads": ["cell-3"]}}, "reads[0]: no arm 'cell-3'; did you mean"),
        ({"*": {"reads": ["a/b"]}}, "reads[0]: 'a/b' is no arm id, no pattern of one with * and ?, no @group"),
        ({"*": {"reads": ["@cels"]}}, "reads[0]: no group 'cels'; did you mean"),
        ({"ann": {"arms": ["@"]}}, "arms[0]: no group ''"),
        ({"*": {"requests": "no"}}, "requests: expected `bool | null`"),
    ],
)
def test_reading_that_cannot_be_is_refused(clients: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        users(**clients)
    assert why in str(caught.value)
