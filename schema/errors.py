"""The error kinds of the protocol and the one exception that carries them."""

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from schema.envelope import Violation


class Code(enum.IntEnum):
    """`Kinova.Api.ErrorCodes`."""

    ERROR_NONE = 0
    ERROR_PROTOCOL_SERVER = 1
    ERROR_PROTOCOL_CLIENT = 2
    ERROR_DEVICE = 3
    ERROR_INTERNAL = 4


class Retry(enum.StrEnum):
    """What the sender may do after a refusal."""

    SAME_ID = "same_id"
    REPEAT = "repeat"
    NEW_ID = "new_id"
    NEVER = "never"


class ErrorRow(NamedTuple):
    """One kind: its Kinova numbers, what the sender may do, and words for people."""

    code: Code
    names: tuple[str, ...]
    retry: Retry
    text: str
    remedy: str


SUB_CODES: dict[str, int] = {
    "METHOD_FAILED": 1,
    "UNIMPLEMENTED": 2,
    "INVALID_PARAM": 3,
    "UNSUPPORTED_METHOD": 5,
    "PAYLOAD_DECODING_ERR": 13,
    "ENTITY_NOT_FOUND": 17,
    "TOO_LARGE_ENCODED_PAYLOAD_BUFFER": 38,
    "NO_MORE_STORAGE_SPACE": 20,
    "UPDATE_PERMISSION_DENIED": 39,
    "DELETE_PERMISSION_DENIED": 40,
    "DATABASE_ERROR": 41,
    "UNSUPPORTED_OPTION": 42,
    "VALUE_IS_ABOVE_MAXIMUM": 48,
    "VALUE_IS_BELOW_MINIMUM": 49,
    "DEVICE_DISCONNECTED": 50,
    "DEVICE_NOT_READY": 51,
    "CONTROL_ACTUATOR_COUNT_MISMATCH": 57,
    "METHOD_TIMEOUT": 131,
    "UNSUPPORTED_ROBOT_CONFIGURATION": 132,
    "READ_PERMISSION_DENIED": 136,
}
"""The `Kinova.Api.SubErrorCodes` that a refusal of ours carries."""

_CLIENT, _DEVICE, _INTERNAL = Code.ERROR_PROTOCOL_SERVER, Code.ERROR_DEVICE, Code.ERROR_INTERNAL
_SAME, _NEW, _NEVER = Retry.SAME_ID, Retry.NEW_ID, Retry.NEVER


def _row(code: Code, names: str, retry: Retry, text: str, remedy: str) -> ErrorRow:
    return ErrorRow(code, tuple(names.split()), retry, text, remedy)


# fmt: off
ERRORS: dict[str, ErrorRow] = {
    "malformed":          _row(_CLIENT, "PAYLOAD_DECODING_ERR", _NEW, "The payload is not a document of its codec, or a field has the wrong type.", "Correct the document."),
    "unknown_field":      _row(_CLIENT, "PAYLOAD_DECODING_ERR", _NEW, "The request or its params hold a field that does not exist.", "Remove it, or correct its name."),
    "unsupported_codec":  _row(_CLIENT, "PAYLOAD_DECODING_ERR", _NEW, "The Content Type names no codec of ours.", "Use application/json, application/msgpack or application/x-protobuf."),
    "quarantined":        _row(_CLIENT, "PAYLOAD_DECODING_ERR", _NEVER, "The service ended uncleanly three times on this input.", "Report it; do not send it again."),
    "too_large":          _row(_CLIENT, "TOO_LARGE_ENCODED_PAYLOAD_BUFFER", _NEW, "The payload exceeds the size limit.", "Send less."),
    "bad_arm_id":         _row(_CLIENT, "INVALID_PARAM", _NEW, "The arm level of the topic is no arm id.", "Correct the topic."),
    "id_missing":         _row(_CLIENT, "INVALID_PARAM", _NEW, "A write came without an id.", "Give an id, or Correlation Data of 16 to 32 bytes."),
    "id_reused":          _row(_CLIENT, "INVALID_PARAM", _NEW, "The id was used before for another request.", "Take a new id for each new request."),
    "bad_request_field":  _row(_CLIENT, "INVALID_PARAM", _NEW, "A field of the request is out of its bounds.", "Correct the field."),
    "retained_request":   _row(_CLIENT, "INVALID_PARAM", _NEW, "The request was published retained.", "Publish requests without the retain flag, and clear the topic."),
    "issued_in_future":   _row(_CLIENT, "INVALID_PARAM", _SAME, "issued_at lies more than 5 s ahead of the service.", "Set the clock, or leave issued_at out."),
    "expired":            _row(_CLIENT, "METHOD_TIMEOUT", _NEW, "The time to live was over before the arm was told.", "Send a new request."),
    "unknown_method":     _row(_CLIENT, "UNSUPPORTED_METHOD", _NEVER, "The method does not exist, or this arm cannot do it.", "See the factsheet of the arm."),
    "unsupported_option": _row(_CLIENT, "UNSUPPORTED_OPTION", _NEVER, "The option is not supported.", "Leave it out."),
    "unimplemented":      _row(_CLIENT, "UNIMPLEMENTED", _NEVER, "The method or option is described but not implemented.", "Do without it in this version."),
    "unit_mismatch":      _row(_DEVICE, "INVALID_PARAM", _NEW, "The asserted unit is not the unit of the method.", "Convert the values."),
    "not_finite":         _row(_DEVICE, "INVALID_PARAM", _NEW, "A number is NaN or infinite.", "Send finite numbers."),
    "unknown_enum":       _row(_DEVICE, "INVALID_PARAM", _NEW, "The enum value does not exist, or is the unspecified one.", "Use a listed value."),
    "implausible_value":  _row(_DEVICE, "INVALID_PARAM", _NEW, "The value cannot be what was meant.", "Check unit and sign."),
    "revision_conflict":  _row(_DEVICE, "INVALID_PARAM", _NEW, "The value changed after the revision in if_rev.", "Read again, decide again."),
    "out_of_limits":      _row(_DEVICE, "VALUE_IS_ABOVE_MAXIMUM VALUE_IS_BELOW_MINIMUM", _NEW, "A value is beyond a limit.", "Stay within the bound named in the violations."),
    "wrong_joint_count":  _row(_DEVICE, "CONTROL_ACTUATOR_COUNT_MISMATCH", _NEW, "The list has not one value for each joint.", "Send one value for each joint."),
    "mode_without_limit": _row(_DEVICE, "METHOD_FAILED", _NEVER, "The control mode takes no such limit.", "Choose a mode that takes it."),
    "busy":               _row(_DEVICE, "DEVICE_NOT_READY", _SAME, "Too many changes of this arm are unsettled.", "Wait, then send it again as it is."),
    "rate_limited":       _row(_DEVICE, "DEVICE_NOT_READY", _SAME, "The user sent too much.", "Wait as retry_after_ms says."),
    "shutting_down":      _row(_INTERNAL, "DEVICE_NOT_READY", _SAME, "The service is ending.", "Send it again after the restart."),
    "store_unavailable":  _row(_INTERNAL, "DATABASE_ERROR", _SAME, "The store cannot be written.", "Free its disk; send it again as it is."),
    "internal":           _row(_INTERNAL, "METHOD_FAILED", _SAME, "The service failed.", "Report it; send it again as it is."),
    "unknown_arm":        _row(_DEVICE, "ENTITY_NOT_FOUND", _NEVER, "No arm has this id.", "Correct the id, or register the arm."),
    "unknown_handle":     _row(_DEVICE, "ENTITY_NOT_FOUND", _NEVER, "No such handle of this user on this arm.", "Subscribe again."),
    "arm_away":           _row(_DEVICE, "DEVICE_DISCONNECTED", _NEW, "The arm is not connected.", "Send a new request when it is back."),
    "arm_not_read":       _row(_DEVICE, "DEVICE_NOT_READY", _NEW, "The arm was never read.", "Wait until it is online."),
    "arm_not_ready":      _row(_DEVICE, "DEVICE_NOT_READY", _NEW, "The arm is moving, faulted or in local control.", "Wait until it is ready."),
    "held":               _row(_DEVICE, "DEVICE_NOT_READY", _NEW, "The arm or the change is held.", "Confirm or discard what is held."),
    "arm_refused":        _row(_DEVICE, "METHOD_FAILED", _NEW, "The arm did not take the change.", "See the arm's own code."),
    "overwritten":        _row(_DEVICE, "METHOD_FAILED", _NEW, "Another writer changed the value meanwhile.", "Find the other writer."),
    "outcome_unknown":    _row(_DEVICE, "METHOD_TIMEOUT", Retry.REPEAT, "The arm gave no answer and could not be read.", "Ask again with the same id."),
    "partial":            _row(_DEVICE, "METHOD_FAILED", _NEW, "Some of it took effect or may, some did not.", "See in the result what did not, and why."),
    "not_applicable":     _row(_DEVICE, "UNSUPPORTED_ROBOT_CONFIGURATION", _NEW, "The arm has no such item, or the recipe is for another model.", "See the factsheet of the arm."),
    "unknown_recipe":     _row(_DEVICE, "ENTITY_NOT_FOUND", _NEVER, "No recipe has this name, or this version.", "See ListRecipes."),
    "unknown_plan":       _row(_DEVICE, "ENTITY_NOT_FOUND", _NEVER, "No plan has this number, or it is kept no longer.", "See ListPlans."),
    "no_room":            _row(_DEVICE, "NO_MORE_STORAGE_SPACE", _NEW, "As many as there may be exist already.", "End or delete some first."),
    "not_permitted":      _row(_DEVICE, "UPDATE_PERMISSION_DENIED READ_PERMISSION_DENIED DELETE_PERMISSION_DENIED", _NEVER, "The user may not do this.", "Ask for the grant."),
}
# fmt: on
"""Every kind. Several kinds share a Kinova name, no two causes share a kind; `names[0]` is the default name."""


class BrokerError(Exception):
    """A refusal: `kind` of `ERRORS`, words, and the violations of the request, if any.

    `name` and `code` and `sub_code` default to those of the kind; an arm's own pair may be given instead.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        violations: "tuple[Violation, ...]" = (),
        *,
        name: str | None = None,
        own: tuple[int, int, str] | None = None,
        retry_after_ms: int = 0,
        rule: str = "",
    ) -> None:
        super().__init__(message)
        row = ERRORS[kind]
        self.kind = kind
        self.message = message
        self.violations = violations
        self.name = name or row.names[0]
        self.code: int = row.code
        self.sub_code = SUB_CODES[self.name]
        if own is not None:
            self.code, self.sub_code, self.name = own
        self.retry = row.retry
        self.retry_after_ms = retry_after_ms
        self.rule = rule
        """The rule of the policy that came furthest."""
        self.bare_id = ""
        """The id of the request, where the envelope could be decoded."""
        self.told_id = ""
        """What stands in the place of an id that is none, as far as it is text."""
