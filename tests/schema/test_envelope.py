from enum import IntEnum

import pytest

from schema.envelope import PAYLOAD_LIMIT, Away, RequestEnvelope, Stage, View, Wait, When
from schema.proto.armbroker.v1 import armbroker_pb2


@pytest.mark.parametrize(
    ("ours", "generated"),
    [(Wait, armbroker_pb2.Wait), (View, armbroker_pb2.View), (When, armbroker_pb2.When), (Away, armbroker_pb2.Away)],
)
def test_words_have_the_numbers_of_the_proto(ours: type[IntEnum], generated: object) -> None:
    assert {member.name: member.value for member in ours} == dict(generated.items())  # type: ignore[attr-defined]  # generated


def test_stages_and_size() -> None:
    assert [stage.value for stage in Stage] == ["refused", "read", "checked", "stored", "applied"]
    assert PAYLOAD_LIMIT == 65_536


def test_an_empty_envelope_asks_for_nothing_special() -> None:
    assert RequestEnvelope() == RequestEnvelope(
        id="", params=None, if_rev=None, dry_run=False, wait=Wait.APPLIED, issued_at_us=None, ttl_ms=None,
        valid_for_ms=None, reason="", unit="", view=View.REPORTED, padded=False,
        until_us=None, when=When.NOW, group=None,
    )  # fmt: skip


def test_a_change_ends_where_either_way_of_saying_so_is_given() -> None:
    assert not RequestEnvelope().ends
    assert RequestEnvelope(valid_for_ms=1_000).ends
    assert RequestEnvelope(until_us=1).ends


def test_numbers_of_the_armbroker_messages() -> None:
    messages = armbroker_pb2.DESCRIPTOR.message_types_by_name
    found = {name: {field.number: field.name for field in message.fields} for name, message in messages.items()}
    request = "id params if_rev dry_run wait issued_at_ms ttl_ms valid_for_ms reason unit view until_ms when group"
    reply = (
        "id arm method ok stage final result error warnings rev seq duplicate in_force at_us reported_at_us desired "
        "pending_rev mode_seen_at_us plan until_us"
    )
    event = (
        "arm epoch seq prev rev at_us cause stage request_id by event notification change reason plan until_us "
        "details kind count"
    )
    assert found == {
        "Group": dict(enumerate(("all_or_nothing", "away", "only", "parallel"), 1)),
        "Request": dict(enumerate(request.split(), 1)),
        "Reply": dict(enumerate(reply.split(), 1)),
        "Warning": dict(enumerate(("name", "path", "message"), 1)),
        "Error": dict(
            enumerate("code sub_code name kind message violations retry retry_after_ms kinova rule".split(), 1)  # noqa: SIM905 - as the protocol lists them
        ),
        "Violation": dict(
            enumerate("path joint joint_name got bound unit relation source suggest".split(), 1)  # noqa: SIM905 - likewise
        ),
        "Event": dict(enumerate(event.split(), 1)),
    }
    parts = messages["Event"].nested_types_by_name
    assert [field.name for field in parts["By"].fields] == ["user", "connection", "proven"]
    assert [field.name for field in parts["Change"].fields] == ["item", "slot", "before", "after"]
