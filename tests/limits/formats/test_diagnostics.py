from limits.formats.diagnostics import Diagnostic, Weight, diagnostic_lines


def test_what_joints_share_is_one_line() -> None:
    found = [Diagnostic(f"j{n}", "torque", n, "is not read", Weight.NOTE) for n in range(6)]
    found += [Diagnostic("k", "torque", None, "is not read", Weight.NOTE), Diagnostic("k", "zone", None, "is odd")]
    assert diagnostic_lines(found) == (
        "joints j0, j1, j2, j3 and 3 more, torque: is not read (got 0, 1, 2, 3, ...)",
        "joint k, zone: is odd",
    )


def test_losses_have_a_line_each() -> None:
    found = [Diagnostic(name, "max_jerk", [2.5], "does not count", Weight.LOSS) for name in ("a", "b")]
    assert diagnostic_lines(found) == (
        "joint a, max_jerk: does not count (got [2.5])",
        "joint b, max_jerk: does not count (got [2.5])",
    )
    assert str(Diagnostic(None, "sensor", None, "was not read")) == "sensor: was not read"
