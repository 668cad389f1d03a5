"""Requests to a group: the checks that stand between the envelope and a decision, as for one arm."""

from broker.accept.arrival import Arrival
from broker.accept.decision import VALUE_KINDS, no_method
from broker.accept.options import check_options
from broker.settings import Group, Groups, Settings, Users
from broker.store.reserve import Reserve
from handlers.rpc.rights import check_group_right
from handlers.rpc.row import Access, Address, Rpc
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import FLEET
from schema.errors import BrokerError
from schema.nearest import did_you_mean

GROUPS_NAMED = 10
"""Groups that a refusal lists."""


class GroupRequests:
    """Finds the group of a request, and refuses what it cannot be asked for."""

    def __init__(self, reserve: Reserve, settings: Settings) -> None:
        self._reserve = reserve
        self.follow(settings, Users(settings))

    def follow(self, settings: Settings, users: Users) -> None:
        """Decide by these settings from now on."""
        self.groups, self._users = Groups(settings), users

    def told_of(self, address: str) -> str:
        """The arm among whose events a refusal is told: the first of a group."""
        group = self.groups.get(address[1:])
        return group.arms[0] if group is not None and group.arms else address

    def admit(self, arrival: Arrival) -> tuple[Rpc, Group]:
        """The method and the group of a request, in the order of the checks of one to an arm.

        Raises:
            BrokerError: unknown_arm, unknown_method, unimplemented, unsupported_option, not_permitted,
                store_unavailable, or what is wrong with options or params.
        """
        topic, rpc = arrival.topic, arrival.rpc
        group = self._found(topic.arm)
        if rpc is None:
            raise no_method(topic.method)
        check_address(rpc, group)
        if arrival.params_error is not None and arrival.params_error.kind not in VALUE_KINDS:
            raise arrival.params_error
        check_options(arrival, rpc, self._users, of_group=True)
        if arrival.envelope.if_rev is not None:
            raise BrokerError("unsupported_option", f"if_rev is for one arm, {group.address} is a group")
        check_group_right(group.address, group.members, rpc, topic.user, self._users.grant(topic.user))
        writes = rpc.access is Access.WRITE and not arrival.envelope.dry_run
        if writes and self._reserve.full:
            raise BrokerError("store_unavailable", f"the disk of the store is full. {NOTHING_CHANGED}")
        if arrival.params_error is not None:
            raise arrival.params_error
        return rpc, group

    def _found(self, address: str) -> Group:
        group = self.groups.get(address[1:])
        if group is None:
            text = f"no group {address[1:]}; groups: {_listed(address[1:], list(self.groups.by_name))}"
            raise BrokerError("unknown_arm", f"{text} {NOTHING_CHANGED}")
        return group


def asked_of(arrival: Arrival, rpc: Rpc, group: Group) -> tuple[str, ...]:
    """The arms that a request is about whose answer is one."""
    if Address.GROUP not in rpc.address:
        return (FLEET,)
    options = arrival.envelope.group
    return options.only if options is not None and options.only else group.arms


def _listed(name: str, groups: list[str]) -> str:
    """The groups there are; of many of them some, and the one that may have been meant."""
    if len(groups) <= GROUPS_NAMED:
        return f"{', '.join(groups)}."
    some = ", ".join([*groups[: GROUPS_NAMED - 2], "...", groups[-1]])
    return f"{some}{did_you_mean(name, groups) or '.'}"


def check_address(rpc: Rpc, group: Group) -> None:
    """Refuse a method that groups, or this one, cannot be asked for.

    Raises:
        BrokerError: unsupported_option.
    """
    if rpc.address & (Address.ROWS | Address.GROUP) or (Address.FLEET in rpc.address and group.address == FLEET):
        return
    takes = {
        Address.ARM: "one arm, no group",
        Address.FLEET: f"{FLEET}, no other group",
        Address.ARM | Address.FLEET: f"one arm or {FLEET}, no other group",
    }
    raise BrokerError("unsupported_option", f"{rpc.name} takes {takes[rpc.address]}. {NOTHING_CHANGED}")
