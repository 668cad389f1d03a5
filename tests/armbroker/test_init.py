import subprocess
import sys

import pytest

import armbroker
from armbroker import client


def test_the_face_has_the_names_of_the_client() -> None:
    assert armbroker.__all__ == client.__all__ == dir(armbroker)
    assert [name for name in armbroker.__all__ if getattr(armbroker, name) is not getattr(client, name)] == []


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="'armbroker' has no attribute 'ArmKlient'"):
        _ = armbroker.ArmKlient


def test_nothing_is_loaded_before_it_is_used() -> None:
    program = "import sys, armbroker; assert 'armbroker.client' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
