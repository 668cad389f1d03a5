"""Packages of npm, fetched once a checkout; `pytest --cache-clear` lets them be fetched anew."""

import fcntl
import re
import shutil
import subprocess
from pathlib import Path

INSTALL = ["npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts", "--loglevel=error"]


def fetched(kept: Path, package: str) -> Path:
    """The `node_modules` with a package (`name@version`) and what it needs, in a folder that is kept.

    Processes that want the same wait for the first.

    Raises:
        CalledProcessError: npm cannot fetch it.
    """
    place = kept / re.sub(r"\W", "-", package)
    with (kept / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            fresh = kept / f"{place.name}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            subprocess.run([*INSTALL, "--prefix=.", package], cwd=fresh, check=True, capture_output=True, timeout=300)
            fresh.rename(place)
    return place / "node_modules"
