"""Requests to groups: which group, which methods, whose right."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from handlers.rpc.row import Address
from handlers.rpc_table import RPC_TABLE
from tests.virtual_plant import Plant, play

ARMS = [
    {"id": "r11", "groups": ["cell-4", "gen3"]},
    {"id": "r12", "groups": ["cell-4", "gen3"]},
    {"id": "r13", "groups": ["line-1", "cell-4"]},
]
SET = "SetTwistLinearSoftLimit"
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1}


def play_cell(data: Path, scenario: Callable[[Plant], Awaitable[None]], **more: Any) -> None:
    """Run a scenario on three arms in groups."""
    play(data, scenario, arm=[{"model": "gen3_7dof", **arm} for arm in ARMS], **more)


def test_a_group_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@cell-9", "SetGravityVector", {"z": -9.81}, id="53")
        assert (reply["stage"], reply["final"], reply["rev"]) == ("refused", True, 0)
        assert reply["error"]["kind"] == "unknown_arm"
        assert reply["error"]["name"] == "ENTITY_NOT_FOUND"
        assert reply["error"]["message"] == "no group cell-9; groups: cell-4, gen3, line-1, all. Nothing was changed."
        again = await plant.call("@cell-9", "SetGravityVector", {"z": -9.81}, id="53")
        assert (again["duplicate"], again["error"]) == (True, reply["error"])
        reused = await plant.call("@cell-4", "SetGravityVector", {"z": -9.81}, id="53")
        assert reused["error"]["kind"] == "id_reused"

    play_cell(tmp_path, scenario)


def test_of_many_groups_the_one_that_may_be_meant_is_named(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@CELL-11", "GetEvents")
        text = "no group CELL-11; groups: cell-0, cell-1, cell-2, cell-3, cell-4, cell-5, cell-6, cell-7, ..., all"
        assert reply["error"]["message"] == f"{text}; did you mean 'cell-11'? Nothing was changed."

    play(
        tmp_path,
        scenario,
        arm=[{"id": "r1", "model": "gen3_7dof", "groups": [f"cell-{number}" for number in range(16)]}],
    )


@pytest.mark.parametrize(
    ("address", "method", "text"),
    [
        ("@cell-4", "SetControlMode", "SetControlMode takes one arm, no group"),
        ("@all", "RestoreFactory", "RestoreFactory takes one arm, no group"),
        ("@cell-4", "GetGravityVector", "GetGravityVector takes one arm, no group"),
        ("@cell-4", "GetEvents", "GetEvents takes one arm or @all, no other group"),
    ],
)
def test_what_takes_no_group_says_so(tmp_path: Path, address: str, method: str, text: str) -> None:
    async def scenario(plant: Plant) -> None:
        params = {"control_mode": "IDLE"} if method == "SetControlMode" else {}
        error = (await plant.call(address, method, params))["error"]
        assert (error["kind"], error["message"]) == ("unsupported_option", f"{text}. Nothing was changed.")

    play_cell(tmp_path, scenario)


def test_each_method_is_taken_by_what_its_row_says_alone(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for name, rpc in RPC_TABLE.items():
            if rpc.any_arm:
                continue
            error = (await plant.call("@cell-4", name, {})).get("error", {})
            assert (error.get("kind") == "unsupported_option") is not bool(rpc.address & (Address.ROWS | Address.GROUP))

    play_cell(tmp_path, scenario)


def test_the_checks_of_a_request_to_a_group_have_the_order_of_one_to_an_arm(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        async def kind(address: str, method: str, params: Any, **fields: Any) -> str:
            reply = await plant.call(address, method, params, **fields)
            return str(reply["error"]["kind"])

        wrong = {"control_mode": "CARTESIAN_JOYSTICK", "no": 1}
        assert await kind("@cell", "Sett", wrong) == "unknown_arm"
        assert await kind("@cell-4", "Sett", wrong) == "unknown_method"
        assert await kind("@cell-4", "GetControlMode", {"no": 1}) == "unsupported_option"
        assert await kind("@cell-4", SET, wrong, if_rev=1) == "unknown_field"
        assert await kind("@cell-4", SET, VALUE, unit="deg", if_rev=1) == "unit_mismatch"
        assert await kind("@cell-4", SET, VALUE, if_rev=1) == "unsupported_option"
        assert await kind("@cell-4", SET, VALUE, user="bob", if_rev=1) == "unsupported_option"
        assert await kind("@cell-4", SET, VALUE, user="bob") == "not_permitted"
        nowhere = {**VALUE, "control_mode": "NO_SUCH_MODE"}
        assert await kind("@cell-4", SET, nowhere, user="bob") == "not_permitted"
        assert await kind("@cell-4", SET, nowhere) == "unknown_enum"

    play_cell(tmp_path, scenario, clients={"bob": {"arms": ["r11", "r12"]}})


def test_who_may_not_write_to_each_arm_writes_to_none_and_that_is_told(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        refused = await plant.call("@cell-4", SET, VALUE, user="bob")
        assert "user bob lacks it on r13" in refused["error"]["message"]
        event = await plant.document("evt/r11/admin", lambda each: each["event"] == "REQUEST_DENIED")
        assert event["by"]["user"] == "bob"
        other = await plant.call("@gen3", SET, VALUE, user="bob")
        assert other["stage"] == "applied"

    play_cell(tmp_path, scenario, clients={"bob": {"arms": ["r11", "r12"]}})


def test_the_end_refuses_requests_to_groups_too(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.service._stage_1.acceptor.closing = True
        assert (await plant.call("@cell-4", SET, VALUE))["error"]["kind"] == "shutting_down"

    play_cell(tmp_path, scenario)


def test_any_group_may_be_asked_who_one_is(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for address in ("@all", "@cell-4", "@no-such"):
            assert (await plant.call(address, "WhoAmI"))["result"]["user"] == "u"

    play_cell(tmp_path, scenario)
