import json
from pathlib import Path

import pytest

from devices.simulated.cells import cells_of
from limits.kinova_models import MODELS
from schema.items import ITEMS, KINOVA_ITEMS
from schema.messages import JointAccelerationSoftLimits, TwistAngularSoftLimit, TwistLinearSoftLimit


@pytest.mark.parametrize("model", MODELS)
def test_every_item_has_its_cells(model: str) -> None:
    cells = cells_of(model)
    assert {key for key, _ in cells} == KINOVA_ITEMS
    assert len(cells) == 8 + 5 + 2 + 3 + 3
    for (key, mode), cell in cells.items():
        assert type(cell.default) is ITEMS[key].record
        assert getattr(cell.default, "control_mode", mode) == mode or key == "control_mode"


@pytest.mark.parametrize("model", MODELS)
def test_a_default_is_a_value_that_the_arm_takes_and_keeps_as_it_is(model: str) -> None:
    for cell in cells_of(model).values():
        assert cell.take(cell.default) == cell.default


def test_events_and_resets_are_those_of_the_service(vectors_dir: Path) -> None:
    rpcs = json.loads((vectors_dir / "kinova_rpcs.json").read_text())["rpcs"]
    numbers = {row["request"]: row["event_number"] for row in rpcs if row["rpc"].startswith("Set")}
    resets = {row["rpc"].removeprefix("Reset") for row in rpcs if row["rpc"].startswith("Reset")}
    for (key, _), cell in cells_of("gen3_7dof").items():
        record = ITEMS[key].record.__name__
        assert cell.event == numbers.get(record, 0)
        assert cell.resettable == (record in resets)


def test_a_public_default_above_hard_is_lowered_to_it() -> None:
    default = cells_of("gen3_7dof")["joint_acceleration_soft_limits", 1].default
    assert isinstance(default, JointAccelerationSoftLimits)
    assert default.joint_acceleration_soft_limits[6] == pytest.approx(572.952, abs=1e-3)


def test_the_lite_arm_starts_with_the_twists_of_the_simulation() -> None:
    cells = cells_of("gen3_lite")
    linear, angular = cells["twist_linear_soft_limit", 2].default, cells["twist_angular_soft_limit", 2].default
    assert isinstance(linear, TwistLinearSoftLimit)
    assert isinstance(angular, TwistAngularSoftLimit)
    assert linear.twist_linear_soft_limit == 0.3
    assert angular.twist_angular_soft_limit == pytest.approx(48.7, abs=0.006)
