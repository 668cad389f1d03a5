"""What is served, and what is refused by name until it is."""

from handlers.rpc_table import RPC_TABLE
from schema.features import ALL_FEATURES, FEATURES, UNBUILT


def test_features_are_those_of_the_protocol_in_its_order() -> None:
    assert list(FEATURES) == [word for word in ALL_FEATURES if word in FEATURES]
    assert len(set(ALL_FEATURES)) == len(ALL_FEATURES)


def test_a_method_is_served_or_refused_by_name() -> None:
    assert not set(UNBUILT) & set(RPC_TABLE)
    assert set(UNBUILT.values()) <= set(ALL_FEATURES)
