"""What a value that names parts of another one makes of it."""

import msgspec

from schema.intrinsic import JointLimits
from schema.joint_items import JointParameterMap, JointSafetyMap
from schema.messages import Message


def overlay(kept: Message, named: Message) -> Message:
    """A value with what another one names of it: of joint items the parts that are there, of others the whole."""
    if isinstance(kept, JointLimits) and isinstance(named, JointLimits):
        lists = {name: getattr(named, name) for name in named.__struct_fields__}
        return msgspec.structs.replace(kept, **{name: one for name, one in lists.items() if one and one.values})
    if isinstance(kept, JointSafetyMap) and isinstance(named, JointSafetyMap):
        return JointSafetyMap(kept.joints | named.joints)
    if isinstance(kept, JointParameterMap) and isinstance(named, JointParameterMap):
        return JointParameterMap(kept.parameters | named.parameters)
    return named
