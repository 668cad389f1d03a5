import subprocess
import sys
from pathlib import Path

import pytest

from broker.store.errors import StoreBrokenError, StoreLockedError
from broker.store.lock import DirectoryLock

HOLDER = """
import fcntl, sys
with open(sys.argv[1], "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_keeps_us_out_until_it_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "store.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StoreLockedError, match=str(tmp_path)):
            DirectoryLock(tmp_path)
        holder.kill()
        holder.wait()
    DirectoryLock(tmp_path).release()


def test_a_released_lock_can_be_taken(tmp_path: Path) -> None:
    DirectoryLock(tmp_path / "new").release()
    lock = DirectoryLock(tmp_path / "new")
    with pytest.raises(StoreLockedError):
        DirectoryLock(tmp_path / "new")
    lock.release()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreBrokenError, match="file"):
        DirectoryLock(tmp_path / "file" / "store")
