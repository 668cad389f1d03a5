"""What makes a repeat the same request, and where replies go."""

import contextlib
import gc
from typing import Any

import numpy as np
import pytest

from broker.accept.arrival import Arrival, decode
from broker.link.mqtt_link import InboundMessage
from broker.topics import RequestTopic, Topics
from handlers.methods.motion_params import rows, vector
from handlers.rpc_table import RPC_TABLE
from schema.codecs import PRESUMED
from schema.errors import BrokerError
from tests.journey.forms import CONTENT_TYPES, encode_request

SET = "SetTwistLinearSoftLimit"
PARAMS = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}


def arrival(payload: bytes, method: str = SET, arm: str = "r1", **fields: Any) -> Arrival:
    """A decoded arrival."""
    values: dict[str, Any] = {
        "topic": f"armbroker/v1/req/u/c/{arm}/{method}", "payload": payload, "retain": False, "dup": False,
        "content_type": "", "response_topic": "", "correlation": b"", "expiry_s": None, "handle": None, **fields,
    }  # fmt: skip
    message = InboundMessage(**values)
    found = Arrival(message, RequestTopic("u", "c", arm, method), 0, PRESUMED[message.content_type])
    found.rpc = RPC_TABLE.get(method)
    decode(found)
    return found


def request(codec: str = "json", method: str = SET, **fields: Any) -> bytes:
    """The payload of a request."""
    return encode_request(codec, method, {"id": "1", "params": PARAMS, **fields})


def test_a_fingerprint_is_of_the_content_in_every_codec() -> None:
    prints = {arrival(request(codec), content_type=CONTENT_TYPES[codec]).fingerprint() for codec in CONTENT_TYPES} | {
        arrival(request(ttl_ms=5, wait="stored", reason="why")).fingerprint()
    }
    assert len(prints) == 1
    others = [
        arrival(request(), arm="r2"),
        arrival(request(if_rev=1)),
        arrival(request(params={**PARAMS, "twist_linear_soft_limit": 0.3})),
    ]
    assert len({other.fingerprint() for other in others} | prints) == 4


def test_integers_of_any_length_have_a_fingerprint() -> None:
    def of(number: int) -> bytes:
        return arrival(request(method="ApplyConfig", params={"items": number}), method="ApplyConfig").fingerprint()

    assert of(2**64) == of(2**64)
    assert len({of(2**64), of(2**64 + 1), of(-(2**63) - 1), of(7)}) == 4


def test_the_order_of_keys_makes_no_other_request() -> None:
    one = arrival(b'{"id":"1","params":{"fault":"hang","for_ms":5}}', "SimFault")
    two = arrival(b'{"params":{"for_ms":5,"fault":"hang"},"id":"1"}', "SimFault")
    assert one.fingerprint() == two.fingerprint()


def test_what_cannot_be_decoded_is_told_by_its_bytes() -> None:
    bad = b'{"id":"1","params":{"control_mode":"NO_MODE"}}'
    assert arrival(bad).fingerprint() == arrival(bad).fingerprint() != arrival(bad + b" ").fingerprint()


def test_correlation_data_serves_as_an_id() -> None:
    payload = b'{"params":{}}'
    assert arrival(payload, "ResetGravityVector", correlation=bytes(16)).id == "00" * 16
    for length in (0, 15, 33):
        with pytest.raises(BrokerError, match="id: a write needs one"):
            arrival(payload, "ResetGravityVector", correlation=bytes(length))


def test_a_reply_goes_to_the_users_own_response_topic_or_else_to_the_id() -> None:
    topics = Topics("armbroker")
    own = arrival(request(), response_topic="armbroker/v1/res/u/other/leaf")
    assert own.address(topics).topic == "armbroker/v1/res/u/other/leaf"
    foreign = arrival(request(), response_topic="armbroker/v1/res/v/c/leaf")
    for _ in range(2):
        assert foreign.address(topics).topic == "armbroker/v1/res/u/c/1"
    assert [warning.name for warning in foreign.warnings] == ["RESPONSE_TOPIC_IGNORED"]
    assert arrival(b"{}", "WhoAmI").address(topics).topic == "armbroker/v1/res/u/c/_"


class Payload(bytes):
    """Bytes that tell when they are gone."""

    gone = 0

    def __del__(self) -> None:
        """They are."""
        Payload.gone += 1


@pytest.mark.parametrize("payload", [b"x" * 70_000, b"{", request(params={"control_mode": 7})])
def test_what_was_wrong_with_a_message_keeps_it_from_being_forgotten_only_until_garbage_is_collected(
    payload: bytes,
) -> None:
    gone = Payload.gone
    with contextlib.suppress(BrokerError):
        arrival(Payload(payload))
    gc.collect()
    assert Payload.gone == gone + 1


def test_reads_and_dry_runs_are_not_remembered() -> None:
    assert arrival(request()).remembered
    assert not arrival(request(dry_run=True)).remembered
    assert not arrival(b'{"id":"1"}', "GetGravityVector").remembered
    assert arrival(b'{"id":"1"}', "NoSuchMethod").remembered


def check(points: int, **params: Any) -> dict[str, Any]:
    """A request of CheckTrajectory with this many points of one joint."""
    times = [float(at) for at in range(points)]
    return {"id": "1", "params": {"times": times, "positions": [[0.5]] * points, **params}}


@pytest.mark.parametrize("codec", CONTENT_TYPES)
def test_long_lists_of_numbers_are_decoded_as_short_ones(codec: str) -> None:
    for points in (10, 20_000):
        payload = encode_request(codec, "CheckTrajectory", check(points, mode="IDLE"))
        found = arrival(payload, "CheckTrajectory", content_type=CONTENT_TYPES[codec])
        assert (found.id, found.params_error) == ("1", None)
        assert isinstance(found.params, dict)
        assert found.params.keys() == {"times", "positions", "mode"}
        np.testing.assert_array_equal(rows(found.params["positions"], "positions", 1), [[0.5]] * points)
        np.testing.assert_array_equal(vector(found.params["times"], "times"), np.arange(points))


@pytest.mark.parametrize("codec", CONTENT_TYPES)
def test_what_stands_beside_the_lists_is_no_longer_than_any_request(codec: str) -> None:
    payload = encode_request(codec, "CheckTrajectory", check(20_000, joints=["joint"] * 20_000))
    with pytest.raises(BrokerError, match="bytes beside times, positions, at most 65536") as caught:
        arrival(payload, "CheckTrajectory", content_type=CONTENT_TYPES[codec])
    assert caught.value.kind == "too_large"


@pytest.mark.parametrize(("method", "most"), [("CheckTrajectory", 4_194_304), ("CheckCommand", 65_536)])
def test_the_size_is_bounded_by_the_method(method: str, most: int) -> None:
    with pytest.raises(BrokerError, match=f"payload: {most + 1} bytes, at most {most}") as caught:
        arrival(b"{" + b" " * most, method)
    assert caught.value.kind == "too_large"


def test_a_long_list_that_is_none_is_told_with_the_id() -> None:
    payload = encode_request("json", "CheckTrajectory", check(20_000)).replace(b"[0.5]]", b"[null]]")
    found = arrival(payload, "CheckTrajectory")
    assert found.id == "1"
    assert found.params_error is not None
    assert found.params_error.kind == "malformed"
    assert found.params_error.message.startswith("params.positions: ")
