"""How code of ours says that an arm refuses."""

from devices.adapter import ArmRefusedError
from schema.errors import SUB_CODES, Code


def refused(name: str, text: str) -> ArmRefusedError:
    """The error of an arm that refuses: `name` is a Kinova sub code in use."""
    return ArmRefusedError(Code.ERROR_DEVICE, SUB_CODES[name], name, text)
