"""The page with the walk of a Set says what a Set goes through, and in which order."""

from difflib import unified_diff

from tests.walk import PAGE, page, traced

MODULES_MOST = 32
"""Modules that a Set meets: those of the shell, and those below that it calls."""


def test_the_walk_of_a_set_is_the_one_on_the_page() -> None:
    met = traced()
    differences = [*unified_diff(PAGE.read_text().splitlines(), page(met).splitlines(), lineterm="", n=0)]
    assert not differences, "python -m tests.walk writes the page anew"
    assert len({one.file for one in met}) <= MODULES_MOST
