import msgspec
import pytest

from schema.envelope import Author
from tests.handlers.builders import request


@pytest.mark.parametrize(("identity", "proven"), [("server-acl", True), ("none", False)])
def test_only_the_acl_of_the_server_proves_who_asks(identity: str, proven: bool) -> None:
    asked = msgspec.structs.replace(request("WhoAmI"), identity=identity)
    assert asked.author == Author("alice", "plc-3", proven)


def test_a_request_is_named_by_user_connection_and_id() -> None:
    assert request("WhoAmI").request_id == "alice/plc-3/7-1"
