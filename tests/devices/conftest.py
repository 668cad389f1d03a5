"""Device tests run in virtual time."""

from tests.devices.virtual_loop import VirtualLoop


def pytest_asyncio_loop_factories() -> dict[str, type[VirtualLoop]]:
    """All tests here run in virtual time."""
    return {"virtual": VirtualLoop}
