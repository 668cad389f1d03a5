import pytest

from limits.errors import LimitsError
from limits.formats.diagnostics import Weight
from limits.ros2.store import ParameterStore


def test_types_are_told_apart() -> None:
    store = ParameterStore({"a": True, "b": 1, "c": 1.5, "d": "x"})
    assert store.flag("a") is True
    assert store.number("b") == 1.0
    assert store.number("c") == 1.5
    for name in ("b", "c", "d"):
        with pytest.raises(LimitsError, match="not bool"):
            store.flag(name)
    for name in ("a", "d"):
        with pytest.raises(LimitsError, match="not double"):
            store.number(name)


def test_whole_numbers_are_refused_on_demand_and_in_compat() -> None:
    for store in (ParameterStore({"b": 1}, integers=False), ParameterStore({"b": 1}, compat=True)):
        with pytest.raises(LimitsError, match="is of type integer, not double"):
            store.number("b")
    assert ParameterStore({"b": 1}, compat=True, integers=True).number("b") == 1.0


def test_a_declared_parameter_is_there_but_not_given() -> None:
    store = ParameterStore({"a": True})
    store.declare("b", default=False)
    assert store.flag("b") is False
    assert (store.has("a"), store.has("b"), store.names()) == (True, False, ("a",))


def test_null_is_told() -> None:
    store = ParameterStore.read("n: {ros__parameters: {joint_limits: {j: {max_jerk: ~}}}}", "n", file="f.yaml")
    assert store.file == "f.yaml"
    assert store.diagnostics == [("j", "max_jerk", None, "is null, which counts as not given", Weight.NOTE)]
