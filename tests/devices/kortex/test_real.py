"""The same worker with the maker's wheel and a real arm: KORTEX_WHEEL=FILE KORTEX_ARM=HOST, then `-m kortex_real`.

KORTEX_USER names the user, KORTEX_PASSWORD holds the password, KORTEX_MODEL the model (`gen3_7dof`). Reads only; with
KORTEX_WRITE=1 the gravity vector is written as it was read.
"""

import os
from pathlib import Path

import pytest

from devices.adapter import Command
from devices.conformance.steps import is_close
from devices.kortex import KortexFleet
from devices.kortex.install import install
from schema.arms import Verb

pytestmark = pytest.mark.kortex_real
NEEDED = ("KORTEX_WHEEL", "KORTEX_ARM", "KORTEX_USER", "KORTEX_PASSWORD")


async def test_a_real_arm_is_described_and_read(tmp_path: Path) -> None:
    if missing := [name for name in NEEDED if not os.environ.get(name)]:
        pytest.skip(f"no real arm: {', '.join(missing)} not set; see {Path(__file__).name}")
    python = install(Path(os.environ["KORTEX_WHEEL"]), tmp_path / "env").python
    options = {
        "host": os.environ["KORTEX_ARM"],
        "user": os.environ["KORTEX_USER"],
        "password_env": "KORTEX_PASSWORD",
        "python": str(python),
    }
    arm = KortexFleet(tmp_path).arm("real", os.environ.get("KORTEX_MODEL", "gen3_7dof"), options)
    try:
        description = await arm.connect()
        assert description.serial
        assert len(description.hard_limits.joint_speed_limits) == len(description.joints)
        read = (await arm.read_all()).items
        for slot, value in read.items():
            assert is_close(await arm.read(slot), value, arm.resolution_rad)
        if os.environ.get("KORTEX_WRITE") == "1":
            gravity = ("gravity_vector", 0)
            await arm.write(Command(1, 1, Verb.SET, gravity, read[gravity]))
            assert is_close(await arm.read(gravity), read[gravity], arm.resolution_rad)
    finally:
        await arm.close()
