"""One decision: all checks between envelope and handler, alike whether a message or a plan brought the request."""

from collections.abc import Iterable

import msgspec

from broker.accept.arrival import Arrival
from broker.arms.arm_session import ArmSession
from broker.record.past_values import PastValues
from broker.settings import Settings, Users
from broker.settle.rights.policing import NeedsSecondError, Policing
from broker.store.reserve import Reserve
from handlers.items.room import check_reserve, check_room
from handlers.methods.authority import check_hold, checked, is_checked_only
from handlers.methods.restore_revision import decide_found
from handlers.overrides.returnable import check_returnable
from handlers.overrides.standing import check_standing
from handlers.policy.rights import PolicyRight
from handlers.rpc.outcome import CHANGES, Answer, BatchProposal, BatchQuery, Change, Outcome, Restoration
from handlers.rpc.request import Request
from handlers.rpc.rights import Grant, check_read, check_right, may_unlock
from handlers.rpc.row import Access, Address, Guard, Rpc
from handlers.rpc_table import RPC_TABLE
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import FLEET, Verb
from schema.envelope import Warned
from schema.errors import BrokerError
from schema.features import UNBUILT
from schema.nearest import did_you_mean

VALUE_KINDS = frozenset({"not_finite", "unknown_enum"})
"""What is wrong with values, not with the form of params: it shows first among the checks of the item."""


def method_of(arrival: Arrival, session: ArmSession | None, arms: Iterable[str], settings: Settings) -> Rpc:
    """The row of the method, if the arm is one of `arms` and can do it, and the params could be decoded.

    Raises:
        BrokerError: unknown_arm, unknown_method, or what is wrong with the params.
    """
    rpc, topic = arrival.rpc, arrival.topic
    if session is None and not (rpc is not None and rpc.any_arm):
        raise BrokerError("unknown_arm", f"no arm {topic.arm} is registered{_hint(topic.arm, arms, settings)}")
    if rpc is None:
        raise no_method(topic.method)
    if session is not None and rpc.name not in session.state.methods and not rpc.any_arm:
        if Address.ARM not in rpc.address:
            takes = FLEET if Address.FLEET in rpc.address else "a group"
            raise BrokerError("unsupported_option", f"{rpc.name} takes {takes}, no single arm. {NOTHING_CHANGED}")
        raise BrokerError("unknown_method", f"{topic.arm} cannot do {rpc.name}")
    if arrival.params_error is not None and arrival.params_error.kind not in VALUE_KINDS:
        raise arrival.params_error
    return rpc


def no_method(name: str) -> BrokerError:
    """The refusal of a method that this version does not serve, or nobody knows."""
    if name in UNBUILT:
        return BrokerError("unimplemented", f"{name} is described, and not served by this version")
    hint = did_you_mean(name, RPC_TABLE) or "; names are compared byte for byte"
    return BrokerError("unknown_method", f"no method {name[:64]!r}{hint}")


def _hint(arm: str, arms: Iterable[str], settings: Settings) -> str:
    """What an arm that is not there is called now, or what else may be meant."""
    now = next((new for new, old in settings.renames.items() if old == arm), "")
    return f": it is called {now} now" if now else did_you_mean(arm, arms)


def check_policy(rpc: Rpc, session: ArmSession | None, request: Request, users: Users) -> None:
    """Refuse what the user has no right to on the arm.

    Raises:
        BrokerError: not_permitted.
    """
    if session is not None and (rpc.right is not None or users.restricted):
        check_right(session.state, rpc, request.user, users.grant(request.user))


def only_checked(arrival: Arrival, session: ArmSession | None) -> bool:
    """Whether the request is a write that the authority over its arm lets be checked only."""
    return session is not None and arrival.rpc is not None and is_checked_only(session.state, arrival.rpc)


def check_lock(rpc: Rpc, session: ArmSession | None, request: Request, users: Users) -> None:
    """Refuse a write while another user holds the arm, but not the end of the lock by who may end it.

    Raises:
        BrokerError: held.
    """
    if rpc.guard is Guard.NONE or session is None or session.state.hold is None:
        return
    user = request.user
    if not may_unlock(session.state, rpc, user, users.grant(user).on(session.arm)):
        check_hold(session.state, user, request.at_us)


def check_values(rpc: Rpc, session: ArmSession | None, request: Request, wrong: BrokerError) -> None:
    """Refuse params whose form is right but that hold values which cannot be; a full queue shows before them.

    Raises:
        BrokerError: busy, or `wrong`: what is wrong with the values.
    """
    if session is not None and rpc.access is Access.WRITE and rpc.item:
        check_room(session.state, request.user)
    raise wrong


def request_of(arrival: Arrival, settings: Settings) -> Request:
    """The request as the handlers see it."""
    topic = arrival.topic
    return Request(
        user=topic.user,
        conn=topic.conn,
        arm=topic.arm,
        method=topic.method,
        envelope=arrival.envelope,
        params=arrival.params if arrival.params is not None else {},
        id=arrival.id,
        at_us=arrival.at_us,
        codec=arrival.codec.name,
        size=arrival.size,
        identity=settings.mqtt.identity,
        trace=arrival.message.trace,
    )


_WRITE = Access.WRITE
GRANTED_MOST = 65_536
"""So many of what users may do are remembered; who names others is looked up again."""
NOWHERE = ArmState(arm="", adapter="", methods=frozenset(), resolution_rad=0.0)
"""Stands for the arm of a request that is for none."""


def check_overrides(state: ArmState, request: Request, outcome: Change) -> None:
    """Refuse what is looser than a tightening override of somebody else, and an end of what cannot be taken back.

    Raises:
        BrokerError: held, not_applicable.
    """
    if isinstance(outcome, Restoration):
        for slot in outcome.slots:
            check_standing(state, request.user, slot, None)
        return
    for step in outcome.steps if isinstance(outcome, BatchProposal) else (outcome,):
        if request.envelope.ends:
            check_returnable(state, step)
        value = None if step.verb is Verb.RESET else step.value
        check_standing(state, request.user, step.slot, value, step.named)


def _check_change(state: ArmState, request: Request, outcome: Outcome) -> None:
    """Refuse a change that there is no room for, or that an override bars."""
    if isinstance(outcome, CHANGES):
        check_reserve(state, outcome)
        check_overrides(state, request, outcome)


class Decision:
    """Decides requests by the present settings; nothing is stored or told."""

    def __init__(self, reserve: Reserve, settings: Settings, policing: Policing, past: PastValues) -> None:
        self._reserve, self._policing, self._past = reserve, policing, past
        self.follow(settings)

    def follow(self, settings: Settings) -> Users:
        """Decide by these settings from now on; who may do what by them."""
        self.users = Users(settings)
        self._granted: set[tuple[str, str, str]] = set()
        """What users may do: user, arm and method."""
        return self.users

    def grant(self, user: str) -> Grant:
        """What a user may do by the present settings."""
        return self.users.grant(user)

    def check_read(self, arm: str, request: Request) -> None:
        """Refuse who may not read another arm than the one addressed; raises BrokerError."""
        check_read(arm, request.user, self.grant(request.user))
        if (policy := self._policing.policy) is not None and policy.asks_reads:
            self._policing.check_right(PolicyRight.READ, request, arm)

    def of(
        self, rpc: Rpc, session: ArmSession | None, request: Request, *, checked_only: bool = False,
        wrong: BrokerError | None = None, counts: bool = True,
    ) -> Outcome:  # fmt: skip
        """Policy, lock, disk, the handler, and room in the queue, in this order.

        Args:
            rpc: the method.
            session: the arm; None: the request is for none.
            request: what is asked.
            checked_only: whether a write is only checked, whatever it says of a dry run.
            wrong: what is wrong with values among the params.
            counts: whether it counts by the rates of the policy.

        Raises:
            BrokerError: why it is refused.
        """
        if session is not None and (request.user, session.arm, rpc.name) not in self._granted:
            self._check_right(rpc, session, request)
        if (policy := self._policing.policy) is not None:
            request = self._policing.check(rpc, request)
        state = NOWHERE if session is None else session.state
        if state.hold is not None:
            check_lock(rpc, session, request, self.users)
        asked, writes = request.envelope, rpc.access is _WRITE
        only = checked_only or asked.dry_run
        if writes and not only and self._reserve.full:
            raise BrokerError("store_unavailable", "the disk of the store is full. Nothing was changed")
        if wrong is not None:
            check_values(rpc, session, request, wrong)
        outcome = rpc.decide(state, request)
        if type(outcome) is BatchQuery:
            outcome = self._found(state, request, outcome)
        if state.unsettled > state.queue_limit or state.overrides is not None or asked.valid_for_ms or asked.until_us:
            _check_change(state, request, outcome)
        if policy is not None:
            return self._judged(state, rpc, request, outcome, only=only and writes, counts=counts and writes)
        return checked(state, rpc, outcome) if only and writes else outcome

    def _check_right(self, rpc: Rpc, session: ArmSession, request: Request) -> None:
        """Refuse what a user has no right to; who has it is remembered, unless it is for the lock of somebody else."""
        check_policy(rpc, session, request, self.users)
        rights = self.users.grant(request.user).on(session.arm)
        if rpc.right is None or rpc.right in rights:
            if len(self._granted) >= GRANTED_MOST:
                self._granted.clear()
            self._granted.add((request.user, session.arm, rpc.name))

    def _found(self, state: ArmState, request: Request, query: BatchQuery) -> Outcome:
        """A change to values of the past, with these looked up."""
        values = self._past.found(state, query.source.rev, query.slots)
        return decide_found(state, request, query, values)

    def _judged(
        self, state: ArmState, rpc: Rpc, request: Request, outcome: Outcome, *, only: bool, counts: bool
    ) -> Outcome:
        """What comes of a decision where there is a policy; `only`: it is a write that is only checked."""
        try:
            outcome = self._policing.judge(state, request, outcome, counts=counts and not only)
        except NeedsSecondError as second:
            if not only:
                raise
            return _waiting(checked(state, rpc, outcome), second)
        return checked(state, rpc, outcome) if only else outcome


def _waiting(answer: Answer, second: NeedsSecondError) -> Answer:
    """The answer of a dry run of what would wait for a second person."""
    told = Warned("PROPOSED", f'rule "{second.rule}": it would wait for a second person')
    return msgspec.structs.replace(answer, warnings=(*answer.warnings, told))
