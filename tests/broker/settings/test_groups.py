"""The groups of the settings."""

from broker.settings import Groups, from_document


def test_groups_are_in_the_order_of_the_settings_and_all_is_the_last() -> None:
    document = {"arm": [{"id": "r2", "groups": ["gen3", "cell-4"]}, {"id": "r1", "groups": ["gen3"]}, {"id": "r0"}]}
    groups = Groups(from_document(document))
    assert groups.counts == {"gen3": 2, "cell-4": 1, "all": 3}
    gen3 = groups.get("gen3")
    assert gen3 is not None
    assert (gen3.arms, gen3.address) == (("r1", "r2"), "@gen3")
    assert gen3.members == {"r1", "r2"}
    assert groups.get("Gen3") is None
    assert ("cell-4" in groups, "cell-5" in groups) == (True, False)
    assert groups.everybody.arms == ("r0", "r1", "r2")


def test_without_arms_there_is_the_group_of_all() -> None:
    assert Groups(from_document({})).counts == {"all": 0}
