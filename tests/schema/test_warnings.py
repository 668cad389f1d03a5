from schema.warnings import WARNINGS

NAMES = {
    "UNIT_SUSPECT",
    "TOOL_MASS_DROPPED",
    "PAYLOAD_MASS_DROPPED",
    "DEVICE_DISCONNECTED",
    "DEVICE_NOT_READY",
    "ROUNDED",
    "CLAMPED",
    "RESPONSE_TOPIC_IGNORED",
    "PAYLOAD_OVER_RATING",
    "FROM_PROFILE",
    "PADDED",
    "ZERO_GAINS",
}


def test_the_table_holds_the_names_of_the_protocol() -> None:
    assert set(WARNINGS) >= NAMES


def test_every_warning_has_words() -> None:
    assert all(text.endswith(".") for words in WARNINGS.values() for text in words)
    assert len(set(WARNINGS.values())) == len({words.meaning for words in WARNINGS.values()}) == len(WARNINGS)
