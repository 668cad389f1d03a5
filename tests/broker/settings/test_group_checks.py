"""What `groups` of an arm may say."""

from typing import Any

import pytest

from broker.settings import SettingsError, from_document


def arms(*groups: list[str]) -> dict[str, Any]:
    return {"arm": [{"id": f"r{number}", "groups": names} for number, names in enumerate(groups)]}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (arms(["@cell"]), "arm r0: groups: '@cell' is no name of a group"),
        (arms(["x" * 64]), "is no name of a group"),
        (arms([""]), "arm r0: groups: '' is no name of a group"),
        (arms(["cell", "cell"]), "arm r0: groups: 'cell' stands twice"),
        (arms(["cell"], ["Cell"]), "arm r1: groups: 'Cell' and 'cell' differ only in case"),
        (arms(["all"]), "arm r0: groups: 'all' is kept for the group of all arms"),
        (arms(["ALL"]), "arm r0: groups: 'ALL' is kept for the group of all arms"),
        (arms([f"g{number}" for number in range(17)]), "arm r0: groups: 17 of them, at most 16"),
        (arms(*([f"g{arm}-{number}" for number in range(13)] for arm in range(77))), "groups: 1001 in all, at most"),
    ],
)
def test_groups_that_cannot_be_are_told(document: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        from_document(document)
    assert why in str(caught.value)


def test_as_many_groups_as_may_be() -> None:
    assert from_document(arms(["c.1_x-Y", *(f"g{number}" for number in range(15))]))
    assert from_document(arms(*([f"g{arm}-{number}" for number in range(10)] for arm in range(100))))
