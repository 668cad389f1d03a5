"""GetSkeleton: the kinematic tree of an arm, as its file has it."""

from handlers.rpc.outcome import Answer
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.errors import BrokerError


def get_skeleton(state: ArmState, _request: Request) -> Answer:
    """The skeleton of the file that the settings name.

    Raises:
        BrokerError: unknown_method: they name none.
    """
    model = state.sources.skeleton
    if model is None:
        raise BrokerError("unknown_method", f"GetSkeleton: the settings of {state.arm} name no skeleton file")
    return Answer(model.message)
