from limits.errors import LimitsError


def test_text_names_place_value_and_bound() -> None:
    error = LimitsError("inverted", file="a.yaml", joint="j1", key="max_velocity", value=-1.0, bound=0.0)
    assert str(error) == "a.yaml, joint j1, max_velocity: inverted (got -1.0, bound 0.0)"


def test_text_without_a_bound() -> None:
    assert str(LimitsError("not a number", key="k", value="x")) == "k: not a number (got 'x')"


def test_text_without_any_place() -> None:
    assert str(LimitsError("empty document")) == "empty document"
