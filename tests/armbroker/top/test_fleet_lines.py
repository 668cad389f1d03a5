from armbroker.board.facts import ArmRow
from armbroker.board.fleet import group_row, plan_row
from armbroker.board.overrides import overrides_of
from armbroker.top.fleet_lines import fleet_text, overrides_text
from armbroker.top.lines import arm_line, columns_line, head_line
from schema.codecs.times import parse_time
from tests.armbroker.board.documents import AT, config, group, override, plan

NOW_S = parse_time(AT) / 1e6 - 72.0


def test_an_override_says_what_is_left_and_what_counts_then() -> None:
    document = config(overrides=[override(50, AT), override(51, "2027-01-01T00:00:00Z", state="overdue")])
    text = overrides_text(overrides_of(document), NOW_S, degrees=True).plain
    assert "live 1 min 12 s left: twist linear soft limit/CARTESIAN JOYSTICK\n" in text
    assert "loosening, rev 50, by alice/hmi, then 0.25\n" in text
    assert "overdue " in text


def test_the_table_says_until_when_or_what_is_overdue() -> None:
    titles = columns_line("arm", down=False).plain
    for row, said in ((ArmRow("r1", overrides=1, ends=AT), "to "), (ArmRow("r1", overrides=2, overdue=1), "1 overdue")):
        assert arm_line(row, old=False).plain[titles.index("override") :].startswith(said)
        assert "1 overrides" in head_line([row]).plain
    assert "overrides" not in head_line([ArmRow("r1")]).plain


def test_plans_have_a_bar_and_their_rows_counted() -> None:
    plans = [
        plan_row(20, plan()),
        plan_row(21, plan(state="ended", outcome="partial", why="2 arms failed", waves=None)),
        plan_row(22, plan(state="proposed", expires=AT, approved_by="bob")),
        plan_row(23, plan(counts={}, failed=[{"arm": f"r{number}", "message": "0.3 > 0.2"} for number in range(9)])),
    ]
    text = fleet_text([], plans, NOW_S).plain
    assert [line.split()[0] for line in text.splitlines() if " of @line-1" in line] == ["23", "22", "21", "20"]
    assert "101 of 1000  wave 1 of 2  101 applied  9 stored  890 waiting" in text
    assert "partial    ApplyRecipe of @line-1, by alice/hmi\n" in text
    assert "2 arms failed" in text
    assert "waits for a second person, 1 min 12 s left" in text
    assert "by alice/hmi, approved by bob" in text
    assert "r5: 0.3 > 0.2\n       and 3 more\n" in text
    assert "Groups\nnone is told of" in text


def test_groups_say_what_wants_looking_at() -> None:
    rows = [group_row("cell-4", group(overdue=2, attention=[{"arm": "r12", "why": "overdue"}])), group_row("a", {})]
    text = fleet_text(rows, [], NOW_S).plain
    assert text.index("@a ") < text.index("@cell-4")
    assert "2 of 3 online  2 overdue  1 pending  1 overrides  next end in 1 min 12 s" in text
    assert "weld@3 on 2, 1 not as it says" in text
    assert "r12: overdue" in text
    assert "Plans\nnone is told of" in text
