"""The checks between the envelope and the handler, in the order of the protocol."""

from collections.abc import Iterable

from broker.accept.arrival import Arrival
from broker.arms.arm_session import ArmSession
from broker.settings import Settings, Users
from handlers.items.room import check_room
from handlers.methods.authority import check_hold, is_checked_only
from handlers.rpc.request import Request
from handlers.rpc.rights import check_right, may_unlock
from handlers.rpc.row import Access, Address, Guard, Rpc
from handlers.rpc_table import RPC_TABLE
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import FLEET
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
