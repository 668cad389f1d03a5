import pytest

from armbroker.board.board import LinkRow, ServiceRow
from armbroker.board.detail import Detail, detail_of
from armbroker.board.events import EventLine, event_line
from armbroker.board.facts import ArmFacts, ArmRow
from armbroker.client import WatchedDocument
from armbroker.top.lines import (
    BAR,
    arm_line,
    bar,
    columns_line,
    event_text,
    facts_text,
    head_line,
    limits_text,
    values_text,
    warnings,
)
from tests.armbroker.board.documents import AT, event, presence, told


@pytest.fixture
def detail() -> Detail:
    facts = ArmFacts("r1")
    for each in told()[1:]:
        if isinstance(each, WatchedDocument) and each.document:
            facts.take(each.name, each.document)
    facts.take("presence", presence(hold={"by": "bob/c", "reason": "gripper", "until": AT}))
    pending = {"rev": 4, "item": "gravity_vector", "slot": "IDLE", "since": AT, "state": "held", "why": "too old"}
    facts.take("config", {**facts.document("config"), "pending": [pending], "differs": ["gravity_vector"]})
    return detail_of(facts)


def test_states_are_told_apart_without_colour() -> None:
    states = ("online", "offline", "held", "unknown")
    lines = {arm_line(ArmRow("r", presence=state, ready=True), old=False).plain for state in states}
    lines.add(arm_line(ArmRow("r", presence="online"), old=False).plain)
    lines.add(arm_line(ArmRow("r", presence="online", ready=True), old=True).plain)
    assert len({line[20:40] for line in lines}) == 6


def test_a_line_has_its_columns_below_their_titles() -> None:
    row = ArmRow(
        "r1", presence="online", ready=True, mode="IDLE", authority="control", pending=2, waits="held", drift=1
    )
    line, titles = arm_line(row, old=False).plain, columns_line("drift", down=True).plain
    assert line.index("2 held") == titles.index("pending")
    assert line.index("≠ 1") == titles.index("drift ▾")
    assert line.index("Idle") == titles.index("mode")


def test_the_head_counts() -> None:
    assert "1 arms  1 online  0 offline" in head_line([ArmRow("r1", presence="online")]).plain


def test_what_is_old_is_said() -> None:
    service = ServiceRow("main", online=False, state="silent", since=AT, seen_at=AT, version="1")
    assert warnings(LinkRow(up=True), [ServiceRow("main", True, "online", AT, AT, "1")]).plain == ""
    assert "service main is silent" in warnings(LinkRow(up=True), [service]).plain
    assert "no armbroker service" in warnings(LinkRow(up=True), []).plain
    assert "no connection" in warnings(LinkRow(up=False, why="lost"), [service]).plain


def test_the_facts_of_an_arm(detail: Detail) -> None:
    text = facts_text(detail, old=True).plain
    for part in (
        "● online",
        "old: the service is away",
        "Angular joystick",
        "bob/c: gripper",
        "held gravity vector (Idle)",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0.0, " " * BAR), (1.0, "█" * BAR), (0.5, "█" * (BAR // 2) + " " * (BAR // 2)), (None, "·" * BAR)],
)
def test_a_bar(share: float | None, drawn: str) -> None:
    assert bar(share) == drawn


def test_a_bar_ends_between_two_characters() -> None:
    assert bar(0.525) == "█" * 10 + "▌" + " " * 9


def test_limits_stand_between_zero_and_the_hard_one(detail: Detail) -> None:
    text = limits_text(detail, degrees=True).plain
    assert "velocity  deg/s" in text
    assert f"joint_1      ▕{bar(0.5)}▏    40.00 / 80.00    soft alice/hmi" in text
    assert "joint_2      ▕····················▏    2.000            soft" in text
    assert "0.698 / 1.396" in limits_text(detail, degrees=False).plain


def test_an_arm_without_limits() -> None:
    assert "no limit is known" in limits_text(detail_of(ArmFacts("r1")), degrees=True).plain


def test_values_with_what_is_desired(detail: Detail) -> None:
    text = values_text(detail.values, degrees=True).plain
    assert "≠ desired -9.81 m/s²" in text
    assert "50" in text


def test_events() -> None:
    text = event_text(event_line("r1", event())).plain
    assert "r1 " in text
    assert "Twist linear soft limit Cartesian joystick  0.5 → 0.2  applied · alice/hmi · teaching" in text
    assert "all arms" in event_text(EventLine("", AT, reason="lost")).plain
