"""Topics are built and parsed in one place."""

from typing import Any

import pytest

from broker.topics import PublicTopic, ReadTopics, Remembered, RequestTopic, Topics, is_group, is_leaf, is_name, user_of
from handlers.rpc_table import RPC_TABLE

TOPICS = Topics("plant/north")


@pytest.mark.parametrize("name", ["a", "A9", "plc-3", "r12.left_arm", "x" * 63])
def test_names(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "-a", ".", "..", "a/b", "a+", "#", "x" * 64, "a b", "å", "a\n", "a\u200b", "@a"])
def test_what_is_no_name(name: str) -> None:
    assert not is_name(name)


@pytest.mark.parametrize(
    ("leaf", "expected"), [("_", True), ("7-000123", True), ("a.b", False), ("", False), ("a\n", False)]
)
def test_leaves(leaf: str, expected: bool) -> None:
    assert is_leaf(leaf) is expected
    assert not is_leaf("x" * 65)


@pytest.mark.parametrize("root", ["", "a//b", "a/b/c/d/e/f", "/a", "a/", "a/+", "$SYS"])
def test_roots_that_cannot_be(root: str) -> None:
    with pytest.raises(ValueError, match="1 to 5 levels"):
        Topics(root)


def test_requests_are_parsed_by_their_exact_levels() -> None:
    assert TOPICS.parse_request("plant/north/v1/req/u/c/r1/Get") == RequestTopic("u", "c", "r1", "Get")
    assert TOPICS.parse_request("plant/north/v1/req/u/c/\u0430rm/") == RequestTopic("u", "c", "\u0430rm", "")
    for bad in ("req/u/c/r1", "req/u/c/r1/Get/x", "req//c/r1/Get", "req/u/@/r1/Get", "res/u/c/r1/Get"):
        assert TOPICS.parse_request(f"plant/north/v1/{bad}") is None
    assert TOPICS.parse_request("other/v1/req/u/c/r1/Get") is None


def test_what_is_too_long_for_a_name_is_cut_and_says_so() -> None:
    for arm in ("a" * 63, "@" + "a" * 63):
        whole = TOPICS.parse_request(f"plant/north/v1/req/u/c/{arm}/{'m' * 63}")
        assert whole == RequestTopic("u", "c", arm, "m" * 63)
        assert not whole.cut
        assert is_name(arm) or is_group(arm)
    for arm, method in (("a" * 65, "Get"), ("@" + "a" * 64, "Get"), ("r1", "m" * 60_000), ("a" * 70, "m" * 70)):
        cut = TOPICS.parse_request(f"plant/north/v1/req/u/c/{arm}/{method}")
        assert cut == RequestTopic("u", "c", arm[:65], method[:65], cut=True)
        assert cut.cut
        assert not (is_name(cut.arm) or is_group(cut.arm)) or cut.method not in RPC_TABLE
    assert max(map(len, RPC_TABLE)) < 64


def test_a_response_topic_has_to_be_the_users_own() -> None:
    assert TOPICS.is_reply_of("plant/north/v1/res/u/any-conn/leaf", "u")
    for bad in ("res/v/c/leaf", "res/u/c/leaf/x", "res/u/leaf", "res/u/+/leaf", "res/u/c/a.b", "req/u/c/r1/Get"):
        assert not TOPICS.is_reply_of(f"plant/north/v1/{bad}", "u")


def test_what_is_remembered_of_texts_is_bounded() -> None:
    looked_at = []

    def find(text: str) -> int:
        looked_at.append(text)
        return len(text)

    lengths = Remembered(find, longest=3, most=2)
    assert [lengths[text] for text in ("a", "a", "long", "long", "bb", "ccc", "a")] == [1, 1, 4, 4, 2, 3, 1]
    assert looked_at == ["a", "long", "long", "bb", "ccc", "a"]
    assert len(lengths) == 2


def test_long_topics_and_levels_are_looked_at_each_time() -> None:
    level = "x" * 60_000
    for _ in range(2):
        assert TOPICS.parse_request(f"plant/north/v1/req/u/{level}/r1/Get") is None
        assert not TOPICS.is_reply_of(f"plant/north/v1/res/u/c/{level}", "u")
        assert not is_name(level)
    for known in (TOPICS.parse_request, is_name):
        remembered: Remembered[Any] = known.__self__  # type: ignore[union-attr]  # methods of dicts
        assert all(len(text) < 1_000 for text in remembered)


def test_public_topics() -> None:
    assert TOPICS.parse_public("plant/north/v1/evt/r1/config/X") == PublicTopic("evt", "r1", "config/X")
    assert TOPICS.parse_public("plant/north/v1/svc/main") == PublicTopic("svc", "main", "")
    assert TOPICS.parse_public("plant/north/v1/res/u/c/l") is None
    assert TOPICS.parse_public("plant/v1/evt/r1/mode") is None


def test_topics_are_built_below_the_root() -> None:
    assert TOPICS.request_filter == "plant/north/v1/req/#"
    assert TOPICS.request("u", "c", "r1", "Get") == "plant/north/v1/req/u/c/r1/Get"
    assert TOPICS.reply("u", "c", "l") == "plant/north/v1/res/u/c/l"
    assert TOPICS.notice("u", "c", 7) == "plant/north/v1/ntf/u/c/7"
    assert TOPICS.event("r1", "mode") == "plant/north/v1/evt/r1/mode"
    assert TOPICS.state("r1", "config") == "plant/north/v1/state/r1/config"
    assert TOPICS.meta("errors") == "plant/north/v1/meta/errors"
    assert TOPICS.service("main") == "plant/north/v1/svc/main"


def test_the_topics_of_arms_that_speak_mqtt() -> None:
    assert TOPICS.device("r12", "cmd") == "plant/north/v1/dev/r12/cmd"
    assert TOPICS.parse_device("plant/north/v1/dev/r12/ack") == ("r12", "ack")
    for topic in ("plant/north/v1/dev/r12", "plant/north/v1/dev/r12/ack/x", "plant/north/v1/dev//ack", "dev/r12/ack"):
        assert TOPICS.parse_device(topic) is None
    assert set(TOPICS.device_filters) == {
        f"plant/north/v1/dev/+/{leaf}" for leaf in ("birth", "death", "ack", "report")
    }


def test_the_user_of_a_topic_that_is_no_request() -> None:
    assert user_of("plant/north/v1/req/alice/c/r1/Get/more", TOPICS) == "alice"
    assert user_of("plant/north/v1/req/alice", TOPICS) == "alice"
    assert user_of("plant/north/v1/req//c/r1/Get", TOPICS) == ""
    assert user_of("plant/north/v1/res/alice/c/r1", TOPICS) == ""


def test_what_is_retained_is_found_and_parsed() -> None:
    topics = Topics("a/b")
    read = ReadTopics(topics)
    assert read.filters(("config", "factsheet")) == (
        "a/b/v1/svc/+", "a/b/v1/state/+/config", "a/b/v1/meta/factsheet/+", "a/b/v1/meta/+"
    )  # fmt: skip
    assert read.parse(topics.state("r1", "mode")) == ("state", "r1", "mode")
    assert read.parse(topics.meta("factsheet/r1")) == ("meta", "r1", "factsheet")
    assert read.parse(topics.meta("errors")) == ("meta", "", "errors")
    assert read.parse(topics.service("main")) == ("svc", "main", "")
    for other in ("a/b/v1/state/@x/mode", "a/b/v1/state/r1/mode/x", "a/b/v1/evt/r1/mode", "b/v1/svc/main", "a/b/v1"):
        assert read.parse(other) is None
    assert topics.parse_device(read.marker("0f")) is None
