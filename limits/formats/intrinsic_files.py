"""JointLimits and Skeleton of `intrinsic_proto` from files: binary, or proto3 JSON where the first byte is `{`."""

from collections.abc import Sequence
from typing import TypeVar

from limits.errors import LimitsError
from limits.intrinsic.joint_limits import JointLimitVectors
from limits.intrinsic.joint_limits_messages import joint_limits_from_message, joint_limits_to_message
from limits.intrinsic.skeleton_model import SkeletonModel, skeleton_model
from schema.codecs.intrinsic import decode_intrinsic
from schema.codecs.proto_json import ProtoJsonError, decode_json, encode_json
from schema.codecs.protobuf import encode_message
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, Skeleton
from schema.messages import Message

RecordT = TypeVar("RecordT", bound=Message)


def _decode(data: bytes, cls: type[RecordT], *, drop_unknown: bool) -> RecordT:
    if not data:
        raise LimitsError("the file is empty")
    if data.startswith(b"{"):
        try:
            return decode_json(data, cls)
        except ProtoJsonError as error:
            raise LimitsError(error.reason, key=error.key or None, value=error.value) from error
    try:
        return decode_intrinsic(data, cls, drop_unknown=drop_unknown)
    except BrokerError as error:
        raise LimitsError(f"no JSON, which starts with {{, and as protobuf: {error.message}") from error


def _in_file(error: LimitsError, file: str | None) -> LimitsError:
    return LimitsError(error.reason, file=file, joint=error.joint, key=error.key, value=error.value, bound=error.bound)


def read_joint_limits(
    data: bytes,
    file: str | None = None,
    *,
    names: Sequence[str] | None = None,
    max_dof: int | None = None,
    drop_unknown: bool = False,
) -> JointLimitVectors:
    """Valid limits of a JointLimits file; `file` and `names` of the joints in DoF order are for errors.

    `drop_unknown` takes a binary file with fields that the message has not, as of another revision, without them.

    Raises:
        LimitsError: naming file, joint, vector, value and bound.
    """
    try:
        return joint_limits_from_message(
            _decode(data, JointLimits, drop_unknown=drop_unknown), max_dof=max_dof, names=names
        )
    except LimitsError as error:
        raise _in_file(error, file) from error


def read_skeleton(data: bytes, file: str | None = None, *, drop_unknown: bool = False) -> SkeletonModel:
    """Model of a Skeleton file; arguments as in `read_joint_limits`.

    The retired fields 3 and 4 of Joint, which held dependencies before 2025, are unknown.

    Raises:
        LimitsError: naming file, element or joint, key, value and bound.
    """
    try:
        return skeleton_model(_decode(data, Skeleton, drop_unknown=drop_unknown))
    except LimitsError as error:
        raise _in_file(error, file) from error


def read_skeleton_record(data: bytes, file: str | None = None) -> Skeleton:
    """The record of a Skeleton file as it stands, unchecked.

    Raises:
        LimitsError: the file holds no Skeleton.
    """
    try:
        return _decode(data, Skeleton, drop_unknown=False)
    except LimitsError as error:
        raise _in_file(error, file) from error


def write_joint_limits(limits: JointLimitVectors, *, json: bool = False) -> bytes:
    """A JointLimits file with every entry, infinite ones included: binary, or indented JSON with a final newline."""
    return write_message(joint_limits_to_message(limits), json=json)


def write_message(record: JointLimits | Skeleton, *, json: bool = False) -> bytes:
    """A file of a record as it is: binary, or indented JSON with a final newline."""
    return encode_json(record, indent=2) + b"\n" if json else encode_message(record)
