"""ApplyRecipe: which values of which recipe, and for which arm."""

from typing import Any

import pytest

from handlers.methods.authority import checked
from handlers.rpc.outcome import BatchProposal
from handlers.rpc_table import RPC_TABLE
from handlers.state.arm_state import ArmState
from handlers.state.recipes import Recipe, Shelf, key_of
from schema.codecs.canonical import canonical, digest_of
from schema.envelope import Author
from schema.errors import BrokerError
from tests.handlers.builders import arm, decide, never_read

ALICE = Author("alice", "plc-3", proven=True)
TWIST = "twist_linear_soft_limit"
ITEMS: dict[str, Any] = {
    TWIST: {"CARTESIAN_JOYSTICK": 0.2, "CARTESIAN_TRAJECTORY": 0.3}, "payload_information": {"payload_mass": 2.0},
}  # fmt: skip


def shelf(*versions: dict[str, Any], models: tuple[str, ...] = ()) -> Shelf:
    kept = Shelf()
    for number, items in enumerate(versions, 1):
        document = {"items": items, "models": list(models)}
        kept.put(Recipe("weld", number, canonical(document), digest_of(document), "", ALICE, 5))
    return kept


def apply(state: ArmState, **params: Any) -> BatchProposal:
    found = decide(state, "ApplyRecipe", {"recipe": "weld"} | params)
    assert isinstance(found, BatchProposal)
    return found


def refused(state: ArmState, **params: Any) -> tuple[str, str]:
    with pytest.raises(BrokerError) as caught:
        apply(state, **params)
    return caught.value.kind, caught.value.message


def test_the_newest_version_counts_unless_another_one_is_named() -> None:
    state = arm(recipes=shelf(ITEMS, {"payload_information": {"payload_mass": 1.0}}))
    newest = apply(state)
    assert newest.recipe is not None
    assert (newest.recipe.label, [step.slot[0] for step in newest.steps]) == ("weld@2", ["payload_information"])
    first = apply(state, version=1, on_failure="reverse")
    assert first.recipe is not None
    assert (first.recipe.version, first.reverse) == (1, True)
    assert {step.slot for step in first.steps} == {(TWIST, 2), (TWIST, 5), ("payload_information", 0)}
    assert key_of(first.recipe.label) == ("weld", 1)


def test_some_of_it_can_be_named() -> None:
    state = arm(recipes=shelf(ITEMS))
    assert [step.slot for step in apply(state, items=[f"{TWIST}/CARTESIAN_JOYSTICK"]).steps] == [(TWIST, 2)]
    assert {step.slot for step in apply(state, items=[TWIST, "gravity_vector"]).steps} == {(TWIST, 2), (TWIST, 5)}
    assert refused(state, items=["gravity_vector"]) == (
        "malformed", "params.items: weld@1 has none of these. Nothing was changed.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({"recipe": "wled"}, "unknown_recipe"),
        ({"recipe": ""}, "malformed"),
        ({"version": 2}, "unknown_recipe"),
        ({"version": 0}, "out_of_limits"),
        ({"version": "1"}, "malformed"),
        ({"items": []}, "malformed"),
        ({"items": ["gravity"]}, "unknown_enum"),
        ({"partial": 1}, "malformed"),
        ({"on_failure": "retry"}, "unknown_enum"),
        ({"name": "weld"}, "unknown_field"),
    ],
)
def test_what_has_another_form_or_is_not_there_is_refused(params: dict[str, Any], kind: str) -> None:
    assert refused(arm(recipes=shelf(ITEMS)), **params)[0] == kind


def test_a_recipe_is_for_the_models_that_it_names() -> None:
    assert apply(arm(recipes=shelf(ITEMS, models=("gen3_6dof", "gen3_7dof"))))
    assert refused(arm(recipes=shelf(ITEMS, models=("gen3_6dof",)))) == (
        "not_applicable", "recipe weld@1 is for gen3_6dof, r12 is gen3_7dof. Nothing was changed.",
    )  # fmt: skip
    assert refused(never_read(recipes=shelf(ITEMS, models=("gen3_6dof",))))[0] == "not_applicable"
    assert refused(never_read(recipes=shelf(ITEMS)))[0] == "arm_not_read"


def test_a_deleted_recipe_is_not_applied_though_it_can_be_read() -> None:
    kept = shelf(ITEMS)
    kept.took(None, ("weld", 1))
    kept.delete("weld")
    assert refused(arm(recipes=kept))[0] == "unknown_recipe"
    assert "can only be read" in refused(arm(recipes=kept), version=1)[1]


def test_violations_are_told_as_of_a_batch_and_some_may_be_left_out() -> None:
    state = arm(recipes=shelf(ITEMS | {TWIST: {"CARTESIAN_JOYSTICK": 0.9}}))
    assert refused(state)[0] == "out_of_limits"
    assert apply(state, partial=True).left_out[f"{TWIST}/CARTESIAN_JOYSTICK"]["kind"] == "out_of_limits"


def test_a_dry_run_tells_which_recipe_it_would_be() -> None:
    state = arm(recipes=shelf(ITEMS))
    told = checked(state, RPC_TABLE["ApplyRecipe"], apply(state)).result
    assert isinstance(told, dict)
    assert told["recipe"] == {"name": "weld", "version": 1, "digest": digest_of({"items": ITEMS, "models": []})}
    assert told["items"][f"{TWIST}/CARTESIAN_JOYSTICK"]["after"] == 0.2
