"""What users may do: read everything, and of the rest what the settings grant them, arm by arm."""

import msgspec

from handlers.rpc.row import Guard, Right, Rpc
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED
from schema.errors import BrokerError

EVERYTHING = frozenset(Right)
"""Every right there is."""


class Grant(msgspec.Struct, frozen=True):
    """The rights of one user, and the arms on which they count."""

    arms: frozenset[str] = frozenset()
    rights: frozenset[Right] = frozenset()

    def on(self, arm: str) -> frozenset[Right]:
        """The rights on one arm."""
        return self.rights if arm in self.arms else frozenset()


NO_GRANT = Grant()
"""Who has nothing may read."""


def may_unlock(state: ArmState, rpc: Rpc, user: str, rights: frozenset[Right]) -> bool:
    """Whether a request is about a lock of somebody else, and from a user who may end it."""
    others = state.hold is not None and state.hold.by.user != user
    return rpc.guard is Guard.LOCK and others and Right.UNLOCK in rights


def check_right(state: ArmState, rpc: Rpc, user: str, grant: Grant) -> None:
    """Refuse what the user has no right to on this arm.

    Raises:
        BrokerError: not_permitted.
    """
    rights = grant.on(state.arm)
    if rpc.right is None or rpc.right in rights or may_unlock(state, rpc, user, rights):
        return
    has = ", ".join(right for right in Right if right in rights) or "none: it may read"
    text = f"{rpc.name} of {state.arm} needs the right {rpc.right}; the rights of user {user} there are {has}"
    raise BrokerError("not_permitted", f"{text}. {NOTHING_CHANGED}")
