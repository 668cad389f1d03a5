from handlers.plans.yields import Later, left_of, overwritten

TWIST, GRAVITY = ("twist_linear_soft_limit", 2), ("gravity_vector", 0)


def test_a_plan_leaves_out_what_was_accepted_after_it() -> None:
    newest = {TWIST: Later(12, 40, "bob/hmi"), GRAVITY: Later(9, 39, "alice/plc")}
    assert left_of((TWIST, GRAVITY), 10, newest) == ((GRAVITY,), newest[TWIST])
    assert left_of((TWIST, GRAVITY), 12, newest) == ((TWIST, GRAVITY), None)
    assert left_of((TWIST, GRAVITY), 8, newest) == ((), newest[TWIST])
    assert left_of((TWIST,), 0, {}) == ((TWIST,), None)


def test_the_change_that_took_its_place_is_named() -> None:
    error = overwritten((TWIST,), "r12", Later(12, 40, "bob/hmi"))
    assert error.kind == "overwritten"
    assert "revision 40 of r12, by bob/hmi" in error.message
    assert "twist_linear_soft_limit/" in error.message
