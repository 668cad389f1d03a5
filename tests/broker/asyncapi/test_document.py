"""The AsyncAPI document is complete, small enough, and its schemas say of the tables what the codecs do."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError

from broker.asyncapi.document import asyncapi_document, example_of, method_schema, without_mappings
from broker.asyncapi.examples import EXAMPLES
from broker.asyncapi.plain_methods import PARAMS, RESULTS
from broker.self_description import NOTICE, shortened_asyncapi
from handlers.rpc_table import RPC_TABLE
from schema.codecs import CODECS
from schema.codecs.plain import from_plain, to_plain
from schema.errors import BrokerError

JSON = CODECS["application/json"]
ROOM = 69_500
"""Bytes of a payload where an MQTT server takes packets of 70,000."""
BRIEF, FULL = (asyncapi_document("armbroker", "1.2.3", NOTICE, full=full) for full in (False, True))
BRIEFEST = without_mappings(BRIEF)
NAMES = sorted(RPC_TABLE)


def validator(method: str, part: str) -> Draft7Validator:
    """What checks requests or replies of a method, by its schema alone."""
    document = method_schema(method)
    return Draft7Validator({**document, "$ref": f"#/definitions/{part}"} | {"definitions": document["definitions"]})


def refs(part: Any) -> set[str]:
    """Every reference in a document."""
    if isinstance(part, dict):
        own = {part["$ref"]} if "$ref" in part else set[str]()
        return own.union(*(refs(value) for value in part.values()))
    return set[str]().union(*map(refs, part)) if isinstance(part, list) else set()


def found(document: Any, ref: str) -> Any:
    """What a reference points to."""
    for step in ref.removeprefix("#/").split("/"):
        document = document[step]
    return document


def test_tables_of_methods_are_complete() -> None:
    assert EXAMPLES.keys() == RPC_TABLE.keys()
    assert PARAMS.keys() == {row.name for row in RPC_TABLE.values() if row.request is None}
    assert RESULTS.keys() == {row.name for row in RPC_TABLE.values() if row.reply is None}


@pytest.mark.parametrize("document", [BRIEF, FULL, BRIEFEST], ids=["brief", "full", "briefest"])
def test_it_is_whole(document: dict[str, Any]) -> None:
    for ref in refs(document):
        assert found(document, ref), ref
    assert document["operations"].keys() == {*RPC_TABLE, *document["channels"]} - {"request", "reply"}
    for name in RPC_TABLE:
        operation = document["operations"][name]
        assert (operation["action"], operation["channel"]) == ("receive", {"$ref": "#/channels/request"})
        (request,), (reply,) = operation["messages"], operation["reply"]["messages"]
        asked, told = found(document, request["$ref"])["payload"], found(document, reply["$ref"])["payload"]
        if RPC_TABLE[name].request is None and document is BRIEFEST:
            assert asked == {"$ref": "#/components/schemas/Request"}
        else:
            assert asked == found(FULL, f"#/channels/request/messages/{name}")["payload"]
        if RPC_TABLE[name].reply is None and document is BRIEFEST:
            assert told == {"$ref": "#/components/schemas/Reply"}
        else:
            assert told["allOf"][0] == {"$ref": "#/components/schemas/Reply"}
    for channel in document["channels"].values():
        assert {f"{{{name}}}" for name in channel.get("parameters", {})} == set(
            re.findall(r"\{\w+\}", channel["address"])
        )


def test_the_retained_one_has_all_operations_where_packets_are_small() -> None:
    assert len(JSON.encode_document(BRIEFEST)) <= ROOM - 1_000


def test_what_does_not_fit_is_shortened_to_a_whole_document() -> None:
    assert json.loads(shortened_asyncapi(BRIEF, 1_000_000)) == BRIEF
    assert json.loads(shortened_asyncapi(BRIEF, ROOM)) == BRIEFEST
    without = {key: part for key, part in BRIEFEST.items() if key != "operations"}
    assert json.loads(shortened_asyncapi(BRIEF, len(JSON.encode_document(without)))) == without
    least = json.loads(shortened_asyncapi(BRIEF, 1_000))
    assert least == {"asyncapi": "3.0.0", "info": BRIEF["info"], "channels": {}}
    assert shortened_asyncapi(BRIEF, 5) == b"{}"


def test_the_topics_are_those_of_the_root() -> None:
    channels = asyncapi_document("plant/hall-3", "1", NOTICE)["channels"]
    assert all(channel["address"].startswith("plant/hall-3/v1/") for channel in channels.values())


@pytest.mark.parametrize("method", NAMES)
def test_the_schema_of_each_method_stands_alone_and_takes_its_example(method: str) -> None:
    document = method_schema(method)
    Draft7Validator.check_schema(document)
    for ref in refs(document):
        assert found(document, ref), ref
    validator(method, "request").validate(example_of(method))
    assert document["examples"] == [example_of(method)]
    with pytest.raises(ValidationError):
        validator(method, "request").validate({"id": "x", "params": {"no_such_field": 1}})
    with pytest.raises(ValidationError):
        validator(method, "request").validate({"id": "x y"})


@pytest.mark.parametrize("method", [name for name in NAMES if RPC_TABLE[name].request is not None])
def test_what_the_codec_writes_is_what_the_schema_takes(method: str) -> None:
    cls = RPC_TABLE[method].request
    assert cls is not None
    record = from_plain(EXAMPLES[method], cls)
    validator(method, "request").validate({"id": "x", "params": to_plain(record)})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("SetTwistLinearSoftLimit", {"twist_linear_soft_limit": "0.2"}),
        ("SetTwistLinearSoftLimit", {"control_mode": 3}),
        ("SetTwistLinearSoftLimit", {"control_mode": "NO_SUCH_MODE"}),
        ("SetJointLimits", {"max_velocity": [0.5]}),
        ("SetJointLimits", {"max_velocity": {"values": ["infinite"]}}),
        ("SetJointParameters", {"parameters": {"joint_limits.joint_1.max_velocity": "0.5"}}),
        ("Unsubscribe", {"identifier": -1}),
        ("Unsubscribe", {"identifier": 2**32}),
    ],
)
def test_what_the_codec_refuses_the_schema_refuses(method: str, params: dict[str, Any]) -> None:
    cls = RPC_TABLE[method].request
    assert cls is not None
    with pytest.raises(BrokerError):
        from_plain(params, cls)
    with pytest.raises(ValidationError):
        validator(method, "request").validate({"id": "x", "params": params})
