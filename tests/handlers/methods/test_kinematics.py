import pytest

from handlers.state.limit_sources import LimitSources
from limits.intrinsic.skeleton_model import skeleton_model
from schema.errors import BrokerError
from schema.intrinsic import Element, Link, Skeleton
from tests.handlers.builders import answer, arm, never_read

SKELETON = Skeleton(name="post", links=(Link(Element(id=1, name="base", parent=1)),))


def test_the_skeleton_of_the_file_is_given_as_it_is() -> None:
    sources = LimitSources(skeleton=skeleton_model(SKELETON), skeleton_file="post.json")
    assert answer(never_read(sources=sources), "GetSkeleton").result == SKELETON


def test_an_arm_without_a_skeleton_file_cannot_do_it() -> None:
    with pytest.raises(BrokerError, match="the settings of r12 name no skeleton file") as caught:
        answer(arm(), "GetSkeleton")
    assert caught.value.kind == "unknown_method"
