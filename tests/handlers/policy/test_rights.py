"""The rights that rules name, and what each method needs."""

from handlers.policy.rights import NEEDS, Asked, PolicyRight
from handlers.rpc.row import Access
from handlers.rpc_table import RPC_TABLE
from schema.features import UNBUILT
from schema.items import ITEMS


def test_every_method_has_a_row() -> None:
    assert NEEDS.keys() == RPC_TABLE.keys() | UNBUILT.keys()


def test_reads_need_read_and_changes_of_items_their_direction() -> None:
    for name, row in RPC_TABLE.items():
        if row.access is Access.READ:
            assert NEEDS[name] in (PolicyRight.READ, Asked.NOTHING), name
        elif row.item in ITEMS and row.item != "control_mode":
            assert NEEDS[name] is Asked.BY_DIRECTION, name
        else:
            assert NEEDS[name] is not PolicyRight.READ, name


def test_what_names_a_right() -> None:
    named = {name: right.value for name, right in NEEDS.items() if isinstance(right, PolicyRight) and right != "read"}
    assert named == {
        "SetControlMode": "mode", "SetAuthority": "authority", "HoldArm": "hold", "ReleaseArm": "hold",
        "SimFault": "fault", "ConfirmPending": "confirm", "DiscardPending": "confirm", "ConfirmArm": "confirm",
        "PutRecipe": "recipe", "DeleteRecipe": "recipe", "Rollout": "rollout",
    }  # fmt: skip
