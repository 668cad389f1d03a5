from google.protobuf.message import Message as Generated

from schema.codecs.registry import MESSAGES
from schema.messages import Message


def test_the_registry_maps_records_to_generated_messages() -> None:
    assert all(issubclass(record, Message) for record in MESSAGES)
    assert all(issubclass(generated, Generated) for generated in MESSAGES.values())
