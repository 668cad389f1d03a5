"""Values of several slots, each judged as by its Set, against the arm as it will be when all of them are in force."""

from collections.abc import Mapping
from dataclasses import replace

from handlers.items.config_items import CHECKS
from handlers.stack.arm_limits import limits_of
from handlers.state.arm_state import ArmState
from schema.arms import Slot
from schema.envelope import Warned
from schema.messages import Message

_TOOL: Slot = ("tool_configuration", 0)
_PAYLOAD: Slot = ("payload_information", 0)


_LIMITING = frozenset({"joint_limits", "joint_safety", "joint_parameters"})
_TOGETHER = (
    frozenset({"tool_configuration", "payload_information"}),
    frozenset({"joint_speed_soft_limits", "joint_acceleration_soft_limits"}),
)
"""Items whose values are judged by those of each other."""


def _meet(values: Mapping[Slot, Message]) -> bool:
    """Whether some of the values are judged by others of them."""
    if len(values) == 1:
        return False
    keys = {slot[0] for slot in values}
    return not _LIMITING.isdisjoint(keys) or any(pair <= keys for pair in _TOGETHER)


class Projection:
    """An arm with new values of some slots; what else is pending counts beside them."""

    def __init__(self, state: ArmState, values: Mapping[Slot, Message]) -> None:
        self._now = state
        self._values = values
        self.state = state
        if _meet(values):
            self.state = replace(
                state,
                desired={**state.desired, **values},
                reported={**state.reported, **values},
                unread={slot: unread for slot, unread in state.unread.items() if slot not in values},
                limits=None,
            )
            limits_of(state).of_changed(self.state)

    def without(self, slot: Slot) -> ArmState:
        """The arm before a slot gets its value, and after all others got theirs; `put_back` lets it have that again."""
        now, then = self._now, self.state
        if then is not now:
            then.desired[slot], then.reported[slot] = now.desired[slot], now.reported[slot]
            if slot == _TOOL:  # a payload that is set with its tool is no payload that was forgotten
                self._hide(_PAYLOAD)
        return then

    def _hide(self, slot: Slot) -> None:
        if slot in self._values:
            del self.state.desired[slot]

    def put_back(self, slot: Slot) -> None:
        """A slot has its value again."""
        if self.state is not self._now:
            self.state.desired[slot] = self.state.reported[slot] = self._values[slot]
            if slot == _TOOL and _PAYLOAD in self._values:
                self.state.desired[_PAYLOAD] = self._values[_PAYLOAD]


def check_value(state: ArmState, values: Mapping[Slot, Message], slot: Slot) -> tuple[Warned, ...]:
    """Warn of one of several values, or refuse it.

    Raises:
        BrokerError: as its check.
    """
    return CHECKS[slot[0]](Projection(state, values).without(slot), values[slot])
