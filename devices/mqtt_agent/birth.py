"""Birth and death of arms that speak MQTT: who an arm is, and in which session."""

from typing import Annotated, Literal, NamedTuple

import msgspec

from devices.kinova_methods import CONTROL_CONFIG_METHODS
from devices.mqtt_agent.documents import (
    Name,
    Number,
    Number0,
    UnreadableError,
    Words,
    activity_of,
    cut,
    read_document,
    write_document,
)
from schema.arms import Activity, Description, JointInfo
from schema.enums import ControlMode
from schema.floats import as_float32
from schema.items import KINOVA_ITEMS
from schema.messages import KinematicLimits

AGENT_METHODS = CONTROL_CONFIG_METHODS | {"SetControlMode"}
"""The methods that an arm may do."""
RESOLUTION_MOST = 1.0

_Names = Annotated[tuple[Name, ...], msgspec.Meta(max_length=200)]


class _Joint(msgspec.Struct):
    name: Name
    type: Literal["revolute", "continuous", "prismatic"]


_Limit = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class _Hard(msgspec.Struct):
    twist_linear: _Limit
    twist_angular: _Limit
    joint_speed_limits: tuple[_Limit, ...]
    joint_acceleration_limits: tuple[_Limit, ...]


class _Birth(msgspec.Struct):
    """The document as it comes; further fields are those of a newer protocol."""

    session: Number
    model: Name
    serial: Name
    firmware: Name
    joints: Annotated[tuple[_Joint, ...], msgspec.Meta(min_length=1, max_length=64)]
    hard_limits: _Hard
    hard_source: Literal["hard:device", "hard:profile"]
    payload_max: Annotated[float, msgspec.Meta(ge=0, le=1e6)]
    modes_settable: _Names
    methods: _Names
    items: _Names
    resolution_rad: Annotated[float, msgspec.Meta(ge=0, le=RESOLUTION_MOST)]
    fence: tuple[Number0, Number0]
    ready: bool
    why: Words = ""
    activity: Name = Activity.UNKNOWN.value
    at: Words = ""


class _Death(msgspec.Struct):
    session: Number


class Birth(NamedTuple):
    """What an arm says of itself while it is there; `ready` is false while it takes no change."""

    session: int
    description: Description
    methods: frozenset[str]
    resolution_rad: float
    ready: bool
    why: str
    activity: Activity = Activity.UNKNOWN

    def same_arm(self, other: "Birth") -> bool:
        """Whether two births of a session differ in nothing but readiness, activity and the fence."""
        return _bare(self) == _bare(other)


def _bare(birth: Birth) -> Birth:
    description = msgspec.structs.replace(birth.description, fence=(0, 0))
    return birth._replace(description=description, ready=True, why="", activity=Activity.UNKNOWN)


def read_birth(payload: bytes) -> Birth:
    """The birth in a message; names that this version does not know are left out.

    Raises:
        UnreadableError: it breaks the protocol, or lacks an item.
    """
    given = read_document(payload, _Birth)
    if missing := sorted(KINOVA_ITEMS.difference(given.items)):
        raise UnreadableError(f"items: {', '.join(missing)} missing: an arm holds all of them")
    modes = (ControlMode.__members__.get(name, ControlMode(0)) for name in given.modes_settable)
    description = Description(
        model=given.model,
        serial=given.serial,
        firmware=given.firmware,
        joints=tuple(JointInfo(joint.name, joint.type) for joint in given.joints),
        hard_limits=_hard_limits(given),
        hard_source=given.hard_source,
        payload_max=given.payload_max,
        modes_settable=tuple(sorted({int(mode) for mode in modes if mode})),
        fence=given.fence,
    )
    methods = AGENT_METHODS.intersection(given.methods)
    activity = activity_of(given.activity)
    return Birth(given.session, description, methods, given.resolution_rad, given.ready, cut(given.why), activity)


def _hard_limits(given: _Birth) -> KinematicLimits:
    hard = given.hard_limits
    for name in ("joint_speed_limits", "joint_acceleration_limits"):
        values = getattr(hard, name)
        if len(values) != len(given.joints):
            raise UnreadableError(f"hard_limits.{name}: {len(values)} values for {len(given.joints)} joints")
    return KinematicLimits(
        twist_linear=as_float32(hard.twist_linear),
        twist_angular=as_float32(hard.twist_angular),
        joint_speed_limits=tuple(map(as_float32, hard.joint_speed_limits)),
        joint_acceleration_limits=tuple(map(as_float32, hard.joint_acceleration_limits)),
    )


def write_birth(birth: Birth, at: str) -> bytes:
    """The payload of a birth."""
    description = birth.description
    document = {
        "session": birth.session,
        "model": description.model,
        "serial": description.serial,
        "firmware": description.firmware,
        "joints": [{"name": joint.name, "type": joint.type} for joint in description.joints],
        "hard_limits": {name: getattr(description.hard_limits, name) for name in _Hard.__struct_fields__},
        "hard_source": description.hard_source,
        "payload_max": description.payload_max,
        "modes_settable": [ControlMode(mode).name for mode in description.modes_settable],
        "methods": sorted(birth.methods),
        "items": sorted(KINOVA_ITEMS),
        "resolution_rad": birth.resolution_rad,
        "fence": list(description.fence),
        "ready": birth.ready,
        "why": birth.why or None,
        "activity": birth.activity if birth.activity is not Activity.UNKNOWN else None,
        "at": at,
    }
    return write_document(document)


def read_death(payload: bytes) -> int:
    """The session that ended.

    Raises:
        UnreadableError: it breaks the protocol.
    """
    return read_document(payload, _Death).session


def write_death(session: int) -> bytes:
    """The payload of a death: the will of the session, and its goodbye."""
    return write_document({"session": session})
