"""What users may do: read, unless the settings say less, and of the rest what they grant, arm by arm."""

from collections.abc import Collection

import msgspec

from handlers.rpc.row import Guard, Right, Rpc
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED
from schema.errors import BrokerError

NAMED_MOST = 3
"""Arms that a refusal names."""
EVERYTHING = frozenset(Right)
"""Every right there is."""


class Grant(msgspec.Struct, frozen=True):
    """The rights of one user, and the arms on which they count."""

    arms: frozenset[str] = frozenset()
    rights: frozenset[Right] = frozenset()
    reads: frozenset[str] | None = None
    """Arms that may be read, those included; None: every arm."""
    asks: bool = True
    """Whether requests are taken at all."""

    def may_read(self, arm: str) -> bool:
        """Whether values, history and events of an arm may be asked for."""
        return self.asks and (self.reads is None or arm in self.reads)

    def on(self, arm: str) -> frozenset[Right]:
        """The rights on one arm."""
        return self.rights if arm in self.arms else frozenset()


NO_GRANT = Grant()
"""Who has nothing may read."""


def may_unlock(state: ArmState, rpc: Rpc, user: str, rights: frozenset[Right]) -> bool:
    """Whether a request is about a lock of somebody else, and from a user who may end it."""
    others = state.hold is not None and state.hold.by.user != user
    return rpc.guard is Guard.LOCK and others and Right.UNLOCK in rights


def check_group_right(group: str, arms: Collection[str], rpc: Rpc, user: str, grant: Grant) -> None:
    """Refuse what the user has no right to on each arm of a group.

    A lock that somebody else may end is looked at arm by arm.

    Raises:
        BrokerError: not_permitted, naming the first arm.
    """
    unread = [] if grant.asks and grant.reads is None else sorted(arm for arm in arms if not grant.may_read(arm))
    if unread or not grant.asks:
        why = f"may not read {_few(unread)} of {group}" if grant.asks else "sends no requests"
        raise BrokerError("not_permitted", f"user {user} {why}, by the settings. {NOTHING_CHANGED}")
    if rpc.right is None:
        return
    unlocks = rpc.guard is Guard.LOCK and Right.UNLOCK in grant.rights
    has = grant.arms if rpc.right in grant.rights or unlocks else frozenset[str]()
    if lacks := sorted(arm for arm in arms if arm not in has):
        text = f"{rpc.name} of {group} needs the right {rpc.right} on each of its arms; user {user} lacks it on"
        raise BrokerError("not_permitted", f"{text} {_few(lacks)}. {NOTHING_CHANGED}")


def _few(arms: list[str]) -> str:
    """The first of some arms, and how many more there are."""
    more = len(arms) - NAMED_MOST
    return ", ".join(arms[:NAMED_MOST]) + (f" and {more} more" if more > 0 else "")


def check_read(arm: str, user: str, grant: Grant) -> None:
    """Refuse to tell a user of an arm that he may not read.

    Raises:
        BrokerError: not_permitted.
    """
    if not grant.may_read(arm):
        why = f"may not read {arm}" if grant.asks else "sends no requests"
        raise BrokerError("not_permitted", f"user {user} {why}, by the settings. {NOTHING_CHANGED}")


def check_right(state: ArmState, rpc: Rpc, user: str, grant: Grant) -> None:
    """Refuse what the user has no right to on this arm.

    Raises:
        BrokerError: not_permitted.
    """
    check_read(state.arm, user, grant)
    rights = grant.on(state.arm)
    if rpc.right is None or rpc.right in rights or may_unlock(state, rpc, user, rights):
        return
    has = ", ".join(right for right in Right if right in rights) or "none: it may read"
    text = f"{rpc.name} of {state.arm} needs the right {rpc.right}; the rights of user {user} there are {has}"
    raise BrokerError("not_permitted", f"{text}. {NOTHING_CHANGED}")
