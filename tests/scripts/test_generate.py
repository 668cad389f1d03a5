import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_files_are_what_the_generator_writes() -> None:
    done = subprocess.run([sys.executable, "scripts/generate", "--check"], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
