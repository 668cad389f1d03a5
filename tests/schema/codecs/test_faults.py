import pytest

from schema.codecs.faults import PATH, QUOTED, FaultError, quote, step, unknown_field, wrong_type


def test_a_path_grows_from_the_inside() -> None:
    fault = FaultError("malformed", "is wrong")
    fault.below("[4]")
    fault.below("limits")
    fault.below("params")
    refusal = fault.as_refusal()
    assert (refusal.kind, refusal.message) == ("malformed", "params.limits[4]: is wrong")


def test_a_path_may_be_put_before_or_be_absent() -> None:
    assert FaultError("malformed", "is wrong").as_refusal("params").message == "params: is wrong"
    assert FaultError("malformed", "is wrong").as_refusal().message == "the payload: is wrong"


def test_a_long_path_is_cut() -> None:
    fault = FaultError("malformed", "x")
    for _ in range(100):
        fault.below("abcdef")
    assert len(fault.as_refusal().message) == PATH + len(": x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0.2", '"0.2"'),
        ("a\nb\x1b", '"a\\nb\\u001b"'),
        ("\u202e\ud800", '"\\u202e\\ud800"'),
        (True, "true"),
        (3, "3"),
        (0.5, "0.5"),
    ],
)
def test_quoted_values_are_ascii(value: object, text: str) -> None:
    assert quote(value) == text


@pytest.mark.parametrize("value", ["x" * 1000, "\n" * 1000, 10**100])
def test_quoted_values_are_cut(value: object) -> None:
    text = quote(value)
    assert len(text) == QUOTED
    assert text.endswith("...")


@pytest.mark.parametrize(
    ("key", "text"), [("joint_speed", "joint_speed"), ("a.b", '"a.b"'), ("", '""'), ("a\n", '"a\\n"')]
)
def test_a_key_that_is_no_name_is_quoted_in_a_path(key: str, text: str) -> None:
    assert step(key) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0.2", '"0.2" is a string, a number is needed'),
        (True, "true is a boolean, a number is needed"),
        (3, "3 is an integer, a number is needed"),
        (0.5, "0.5 is a fraction, a number is needed"),
        (None, "null is given, a number is needed"),
        (b"x", "binary data is given, a number is needed"),
        ([1], "a list is given, a number is needed"),
        ({}, "an object is given, a number is needed"),
        ((), "a value of another kind is given, a number is needed"),
    ],
)
def test_wrong_type_says_what_is_and_what_should_be(value: object, text: str) -> None:
    with pytest.raises(FaultError) as caught:
        wrong_type(value, "a number")
    assert (caught.value.kind, caught.value.text) == ("malformed", text)


def test_unknown_field_names_the_known_ones() -> None:
    fault = unknown_field("spede", "JointSpeeds", ["joint_speed"])
    assert fault.as_refusal("params").message == "params.spede: JointSpeeds has no such field, only: joint_speed"
    assert unknown_field("x", "Empty", []).text == "Empty has no such field, only: none"
