"""How tests are shared out among processes."""

from xdist.scheduler import LoadScopeScheduling

TOGETHER = frozenset({
    "tests/deploy/test_guide.py",
    "tests/examples/test_clients.py",
    "tests/examples/test_node_red.py",
    "tests/journey/test_hostile.py",
    "tests/journey/test_kill.py",
    "tests/test_architecture.py",
    "tests/test_conftest.py",
    "tests/test_distribution.py",
})  # fmt: skip
"""Files whose tests share what is costly to make: each is run by one process."""


class FilesTogether(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Gives out a file of `TOGETHER` whole and first, all other tests one by one.

    By the file and not by a mark: ids of tests, the only thing that a mark could be told in, cannot be changed.
    """

    def _split_scope(self, nodeid: str) -> str:
        """What is given out together with this test."""
        file = nodeid.partition("::")[0]
        return file if file in TOGETHER else nodeid
