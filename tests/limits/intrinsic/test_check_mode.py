import pytest

from limits.errors import LimitsError
from limits.intrinsic.check_mode import checks_acceleration, effective_check_mode, shared_check_mode
from schema.intrinsic import DynamicLimitsCheckMode


@pytest.mark.parametrize(("number", "checked"), [(0, True), (1, True), (2, False)])
def test_unspecified_checks(number: int, checked: bool) -> None:
    assert checks_acceleration(number) is checked
    assert (effective_check_mode(number).value == 1) is checked


@pytest.mark.parametrize("number", [-1, 3, 2147483647])
def test_unknown_mode_is_refused(number: int) -> None:
    with pytest.raises(LimitsError, match="dynamic_limits_check_mode: unknown mode"):
        effective_check_mode(number)


def test_segments_share_one_mode_as_a_number() -> None:
    none = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE
    assert shared_check_mode([none, 2]) == 2
    assert shared_check_mode([]) == 0
    with pytest.raises(LimitsError, match=r"segments differ \(got 1, bound 0\)"):
        shared_check_mode([0, 1])
