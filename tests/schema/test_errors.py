import json
from pathlib import Path

import pytest

from schema.envelope import Violation
from schema.errors import ERRORS, SUB_CODES, BrokerError, Code, Retry
from schema.proto.kinova import errors_pb2

DECODING = "PAYLOAD_DECODING_ERR"
CLIENT, DEVICE, INTERNAL = 1, 3, 4
KINDS = {
    "malformed": (CLIENT, {DECODING}, "new_id"),
    "unknown_field": (CLIENT, {DECODING}, "new_id"),
    "unsupported_codec": (CLIENT, {DECODING}, "new_id"),
    "quarantined": (CLIENT, {DECODING}, "never"),
    "too_large": (CLIENT, {"TOO_LARGE_ENCODED_PAYLOAD_BUFFER"}, "new_id"),
    "bad_arm_id": (CLIENT, {"INVALID_PARAM"}, "new_id"),
    "id_missing": (CLIENT, {"INVALID_PARAM"}, "new_id"),
    "id_reused": (CLIENT, {"INVALID_PARAM"}, "new_id"),
    "bad_request_field": (CLIENT, {"INVALID_PARAM"}, "new_id"),
    "retained_request": (CLIENT, {"INVALID_PARAM"}, "new_id"),
    "unit_mismatch": (DEVICE, {"INVALID_PARAM"}, "new_id"),
    "not_finite": (DEVICE, {"INVALID_PARAM"}, "new_id"),
    "unknown_enum": (DEVICE, {"INVALID_PARAM"}, "new_id"),
    "implausible_value": (DEVICE, {"INVALID_PARAM"}, "new_id"),
    "revision_conflict": (DEVICE, {"INVALID_PARAM"}, "new_id"),
    "issued_in_future": (CLIENT, {"INVALID_PARAM"}, "same_id"),
    "expired": (CLIENT, {"METHOD_TIMEOUT"}, "new_id"),
    "unknown_arm": (DEVICE, {"ENTITY_NOT_FOUND"}, "never"),
    "unknown_handle": (DEVICE, {"ENTITY_NOT_FOUND"}, "never"),
    "unknown_method": (CLIENT, {"UNSUPPORTED_METHOD"}, "never"),
    "unsupported_option": (CLIENT, {"UNSUPPORTED_OPTION"}, "never"),
    "unimplemented": (CLIENT, {"UNIMPLEMENTED"}, "never"),
    "out_of_limits": (DEVICE, {"VALUE_IS_ABOVE_MAXIMUM", "VALUE_IS_BELOW_MINIMUM"}, "new_id"),
    "wrong_joint_count": (DEVICE, {"CONTROL_ACTUATOR_COUNT_MISMATCH"}, "new_id"),
    "mode_without_limit": (DEVICE, {"METHOD_FAILED"}, "never"),
    "busy": (DEVICE, {"DEVICE_NOT_READY"}, "same_id"),
    "rate_limited": (DEVICE, {"DEVICE_NOT_READY"}, "same_id"),
    "shutting_down": (INTERNAL, {"DEVICE_NOT_READY"}, "same_id"),
    "store_unavailable": (INTERNAL, {"DATABASE_ERROR"}, "same_id"),
    "internal": (INTERNAL, {"METHOD_FAILED"}, "same_id"),
    "arm_away": (DEVICE, {"DEVICE_DISCONNECTED"}, "new_id"),
    "arm_not_read": (DEVICE, {"DEVICE_NOT_READY"}, "new_id"),
    "arm_not_ready": (DEVICE, {"DEVICE_NOT_READY"}, "new_id"),
    "held": (DEVICE, {"DEVICE_NOT_READY"}, "new_id"),
    "arm_refused": (DEVICE, {"METHOD_FAILED"}, "new_id"),
    "overwritten": (DEVICE, {"METHOD_FAILED"}, "new_id"),
    "outcome_unknown": (DEVICE, {"METHOD_TIMEOUT"}, "repeat"),
    "partial": (DEVICE, {"METHOD_FAILED"}, "new_id"),
    "not_applicable": (DEVICE, {"UNSUPPORTED_ROBOT_CONFIGURATION"}, "new_id"),
    "unknown_recipe": (DEVICE, {"ENTITY_NOT_FOUND"}, "never"),
    "unknown_plan": (DEVICE, {"ENTITY_NOT_FOUND"}, "never"),
    "no_room": (DEVICE, {"NO_MORE_STORAGE_SPACE"}, "new_id"),
    "not_permitted": (
        DEVICE,
        {"UPDATE_PERMISSION_DENIED", "READ_PERMISSION_DENIED", "DELETE_PERMISSION_DENIED"},
        "never",
    ),
}


def test_the_table_is_that_of_the_protocol() -> None:
    assert {kind: (row.code, set(row.names), row.retry) for kind, row in ERRORS.items()} == KINDS


def test_every_kind_has_words_and_every_name_a_number() -> None:
    for row in ERRORS.values():
        assert row.text.endswith(".")
        assert row.remedy.endswith(".")
        assert set(row.names) <= set(SUB_CODES)
    assert {name for row in ERRORS.values() for name in row.names} == set(SUB_CODES)


def test_numbers_are_those_of_the_proto() -> None:
    generated = dict(errors_pb2.SubErrorCodes.items())
    assert {name: generated[name] for name in SUB_CODES} == SUB_CODES
    assert {code.name: code.value for code in Code} == dict(errors_pb2.ErrorCodes.items())
    assert len(generated) == 100


def test_numbers_are_those_of_the_vectors(vectors_dir: Path) -> None:
    document = json.loads((vectors_dir / "kinova_errors.json").read_text())
    assert dict(errors_pb2.SubErrorCodes.items()) == document["SubErrorCodes"]
    assert dict(errors_pb2.ErrorCodes.items()) == document["ErrorCodes"]
    assert SUB_CODES.items() <= document["SubErrorCodes"].items()


def test_retry_words() -> None:
    assert [word.value for word in Retry] == ["same_id", "repeat", "new_id", "never"]


def test_a_refusal_has_the_numbers_of_its_kind() -> None:
    refusal = BrokerError("out_of_limits", "too much", (Violation("x", 2.0, 1.0, "m", "<=", "hard:device"),))
    assert (refusal.code, refusal.sub_code, refusal.name) == (3, 48, "VALUE_IS_ABOVE_MAXIMUM")
    assert (refusal.retry, refusal.retry_after_ms, refusal.bare_id) == (Retry.NEW_ID, 0, "")
    assert (str(refusal), refusal.violations[0].path) == ("too much", "x")


def test_a_refusal_takes_another_name_of_its_kind() -> None:
    refusal = BrokerError("out_of_limits", "too little", name="VALUE_IS_BELOW_MINIMUM")
    assert (refusal.sub_code, refusal.name) == (49, "VALUE_IS_BELOW_MINIMUM")


def test_a_refusal_takes_the_arms_own_numbers() -> None:
    refusal = BrokerError("arm_refused", "no", own=(3, 22, "ROBOT_IN_FAULT"), retry_after_ms=5)
    assert (refusal.code, refusal.sub_code, refusal.name, refusal.retry_after_ms) == (3, 22, "ROBOT_IN_FAULT", 5)


def test_an_unknown_kind_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        BrokerError("no_such_kind", "")
