from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.compare.sources import read_slots, read_source
from handlers.rpc.source import LiteralSource, RecipeSource, RevisionSource, Source, ViewSource
from schema.envelope import View
from schema.errors import BrokerError
from schema.messages import PayloadInformation

PAYLOAD = {"payload_information": {"payload_mass": 2}}


@pytest.mark.parametrize(
    ("document", "source"),
    [
        ({}, ViewSource()),
        ({"arm": "r13"}, ViewSource("r13")),
        ({"view": "desired"}, ViewSource("", View.DESIRED)),
        ({"arm": "r13", "view": "ground"}, ViewSource("r13", View.GROUND)),
        ({"rev": 41}, RevisionSource("", 41)),
        ({"arm": "r13", "rev": 1}, RevisionSource("r13", 1)),
        ({"recipe": "weld"}, RecipeSource("weld")),
        ({"recipe": "weld", "version": 3}, RecipeSource("weld", 3)),
        ({"items": PAYLOAD}, LiteralSource({("payload_information", 0): PayloadInformation(2.0)})),
    ],
)
def test_there_are_four_kinds_of_sources(document: dict[str, Any], source: Source) -> None:
    assert read_source(document, "params.to") == source


def test_a_source_that_names_no_view_has_the_one_of_its_method() -> None:
    assert read_source({"arm": "r13"}, "params.from", View.GROUND) == ViewSource("r13", View.GROUND)


@pytest.mark.parametrize(
    ("document", "kind", "words"),
    [
        (None, "malformed", "params.to: an object is needed"),
        ("r12", "malformed", "params.to: an object is needed"),
        ([{}], "malformed", "params.to: an object is needed"),
        ({"rev": 3, "view": "reported"}, "malformed", "rev and view are given, a source is one of"),
        ({"recipe": "weld", "items": PAYLOAD}, "malformed", "recipe and items are given"),
        ({"rev": 3, "view": "desired", "recipe": "weld", "items": PAYLOAD}, "malformed", "rev and view and recipe"),
        ({"arm": "r12", "recipe": "weld"}, "malformed", "params.to.arm: not with recipe"),
        ({"arm": "r12", "items": PAYLOAD}, "malformed", "params.to.arm: not with items"),
        ({"version": 3}, "malformed", "params.to.version: not with view"),
        ({"rev": 3, "version": 3}, "malformed", "params.to.version: not with rev"),
        ({"revision": 3}, "unknown_field", "params.to.'revision'"),
        ({"view": "effective"}, "unknown_enum", "params.to.view: 'effective' is no view; views: reported, desired"),
        ({"view": "REPORTED"}, "unknown_enum", "is no view"),
        ({"view": 1}, "malformed", "params.to.view: a text is needed"),
        ({"view": None}, "malformed", "params.to.view: a text is needed"),
        ({"arm": ""}, "malformed", "params.to.arm: a name is needed"),
        ({"arm": 12}, "malformed", "params.to.arm: a text is needed"),
        ({"arm": None}, "malformed", "params.to.arm: a text is needed"),
        ({"rev": 0}, "out_of_limits", "params.to.rev: 0 < 1"),
        ({"rev": -1}, "out_of_limits", "params.to.rev: -1 < 1"),
        ({"rev": 1 << 63}, "out_of_limits", "params.to.rev: 9223372036854775808 > "),
        ({"rev": True}, "malformed", "params.to.rev: an integer is needed"),
        ({"rev": 3.0}, "malformed", "params.to.rev: an integer is needed"),
        ({"rev": None}, "malformed", "params.to.rev: an integer is needed"),
        ({"recipe": ""}, "malformed", "params.to.recipe: a name is needed"),
        ({"recipe": ["weld"]}, "malformed", "params.to.recipe: a text is needed"),
        ({"recipe": "weld", "version": 0}, "out_of_limits", "params.to.version: 0 < 1"),
        ({"items": {}}, "malformed", "params.to.items: at least one value is needed"),
        ({"items": None}, "malformed", "params.to.items"),
        ({"items": {"payload": {}}}, "unknown_field", "payload"),
        ({"items": {"control_mode": {"control_mode": "IDLE"}}}, "unsupported_option", "params.to.items.control_mode"),
        ({"items": {"payload_information": {"payload_mass": float("nan")}}}, "not_finite", "payload_mass"),
    ],
)
def test_what_is_no_source_is_refused_by_name(document: Any, kind: str, words: str) -> None:
    with pytest.raises(BrokerError) as caught:
        read_source(document, "params.to")
    assert caught.value.kind == kind
    assert words in caught.value.message


def test_paths_are_those_of_the_params() -> None:
    assert read_slots({}) is None
    assert read_slots({"items": ["gravity_vector"]}) == frozenset({("gravity_vector", 0)})
    for items in (None, [], "gravity_vector", ["gravity"], ["control_mode"], [3]):
        with pytest.raises(BrokerError, match=r"^params\.items"):
            read_slots({"items": items})


WORDS = st.sampled_from(
    ["arm", "view", "rev", "recipe", "version", "items", "reported", "r12", "gravity_vector", "twist_linear_soft_limit",
     "CARTESIAN_JOYSTICK", "joint_safety", "joints", "control_mode", "x", ""]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=3) | st.binary(max_size=3)
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)


@given(DOCUMENTS)
def test_whatever_comes_is_a_source_or_a_refusal(document: Any) -> None:
    told = "params.to"
    try:
        assert isinstance(read_source(document, told), ViewSource | RevisionSource | RecipeSource | LiteralSource)
    except BrokerError as refused:
        told = refused.message
    assert told.startswith("params.to")
