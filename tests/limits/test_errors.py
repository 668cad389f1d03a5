import pytest

from limits.errors import LimitsError, naming


def test_text_names_place_value_and_bound() -> None:
    error = LimitsError("inverted", file="a.yaml", joint="j1", key="max_velocity", value=-1.0, bound=0.0)
    assert str(error) == "a.yaml, joint j1, max_velocity: inverted (got -1.0, bound 0.0)"


def test_text_without_a_bound() -> None:
    assert str(LimitsError("not a number", key="k", value="x")) == "k: not a number (got 'x')"


def test_text_without_any_place() -> None:
    assert str(LimitsError("empty document")) == "empty document"


@pytest.mark.parametrize(
    ("own", "given", "file"),
    [(None, "a.yaml", "a.yaml"), ("b.yaml", "a.yaml", "b.yaml"), (None, None, None), ("b.yaml", None, "b.yaml")],
)
def test_an_error_without_a_file_gets_one(own: str | None, given: str | None, file: str | None) -> None:
    with pytest.raises(LimitsError) as caught, naming(given):
        raise LimitsError("inverted", file=own, joint="j1", key="k", value=1, bound=0)
    error = caught.value
    assert (error.file, error.joint, error.key, error.value, error.bound) == (file, "j1", "k", 1, 0)
