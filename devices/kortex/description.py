"""Describes a Kinova arm by what it tells, and by what is publicly known of its model where it does not tell."""

from collections.abc import Awaitable, Callable
from typing import Any

from devices.adapter import ArmRefusedError, ArmUnreadableError
from devices.kortex.reading import Reader
from limits.kinova_models import KinovaModel
from schema.arms import Description, JointInfo
from schema.messages import KinematicLimits


async def describe(
    model: KinovaModel, identify: Callable[[], Awaitable[dict[str, Any]]], reader: Reader
) -> Description:
    """The description of an arm that the settings take for one of `model`.

    Raises:
        ArmError: the arm did not answer, or tells of no joint.
    """
    facts = await identify()
    notes = [f"not told: {why}" for why in facts.get("missing", ())]
    count = int(facts.get("actuators", len(model.joints)))
    if count < 1:
        raise ArmUnreadableError(f"the arm tells of {count} joints")
    hard, source = await _hard_limits(model, reader, count, notes)
    return Description(
        model=model.name,
        serial=str(facts.get("serial", "")),
        firmware=str(facts.get("firmware", "")),
        joints=_joints(model, count, notes),
        hard_limits=hard,
        hard_source=source,
        payload_max=model.payload_max,
        modes_settable=(),
        notes=tuple(notes),
    )


def _joints(model: KinovaModel, count: int, notes: list[str]) -> tuple[JointInfo, ...]:
    """The joints, by number; their types are those of the model."""
    if count == len(model.joints):
        return tuple(JointInfo(joint.name, joint.type) for joint in model.joints)
    notes.append(f"the arm has {count} joints, {model.name} has {len(model.joints)}: their types are not known")
    return tuple(JointInfo(f"joint_{number}", "revolute") for number in range(1, count + 1))


async def _hard_limits(model: KinovaModel, reader: Reader, count: int, notes: list[str]) -> tuple[KinematicLimits, str]:
    """The hard limits and where they are from."""
    try:
        read = await reader.ask("GetKinematicHardLimits")
    except ArmRefusedError as refusal:
        notes.append(f"hard limits of public documents, the arm does not tell its own: {refusal}")
        return model.hard, "hard:profile"
    if isinstance(read, KinematicLimits) and len(read.joint_speed_limits) == count:
        return read, "hard:device"
    notes.append("hard limits of public documents, those that the arm tells do not fit its joints")
    return model.hard, "hard:profile"
