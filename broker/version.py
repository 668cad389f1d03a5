"""Which version runs."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version


@lru_cache(maxsize=1)
def service_version() -> str:
    """The version of the installed package; `0` when it is not installed."""
    try:
        return version("armbroker")
    except PackageNotFoundError:
        return "0"
