"""What handlers order of the shell: handles, comparisons, faults."""

from collections.abc import Callable

from broker.accept.comparisons import Comparisons
from broker.arms.arm_session import ArmSession
from broker.arms.stream import Stream
from broker.publish.notices import Notices
from broker.record.administration import Administration, asked_by
from broker.record.ledger import Ledger
from broker.record.recipes import RecipeBook
from broker.settle.overrides.overriding import Overriding
from broker.settle.parking import Parking
from broker.settle.rights.authority import Authorities
from devices.adapter import ArmRefusedError, FaultyArm
from handlers.methods.authority import checked
from handlers.methods.recipes import put_values
from handlers.rpc.outcome import (
    Answer,
    ArmOrder,
    AuthorityOrder,
    BlameQuery,
    CloseHandle,
    ConfirmOrder,
    DiffQuery,
    DiscardOrder,
    EndOrder,
    ExtendOrder,
    FaultOrder,
    HoldOrder,
    OpenHandle,
    Outcome,
    RecipeDeletion,
    RecipeDraft,
    RecipePut,
    ReleaseOrder,
)
from handlers.rpc.request import Request
from handlers.rpc.row import Access, Rpc
from schema.arms import Fault
from schema.codecs.times import format_time
from schema.envelope import Author, Stage
from schema.errors import BrokerError
from schema.events import AdminEvent
from schema.messages import Empty, NotificationHandle


class Orders:
    """Carries out orders at once."""

    def __init__(
        self,
        ledger: Ledger,
        notices: Notices,
        *,
        authorities: Authorities,
        parking: Parking,
        confirm_arm: Callable[[ArmSession, Author], None],
        administration: Administration,
        comparisons: Comparisons,
        recipes: RecipeBook,
        overriding: Overriding,
    ) -> None:
        self._ledger = ledger
        self._notices = notices
        self._authorities = authorities
        self._parking = parking
        self._confirm_arm = confirm_arm
        self._administration = administration
        self._comparisons = comparisons
        self._recipes = recipes
        self._overriding = overriding

    def carry_out(self, session: ArmSession, request: Request, order: Outcome) -> Answer:
        """Do what is ordered, and the answer.

        Raises:
            BrokerError: the simulated arm refuses the fault; what keeps another arm from being confirmed.
        """
        match order:
            case OpenHandle() | CloseHandle():
                return self._handled(session, request, order)
            case ConfirmOrder(rev):
                self._parking.confirm(session, rev, request.author)
                return Answer({}, Stage.STORED)
            case DiscardOrder(rev):
                self._parking.discard(session, rev, request.author)
                return Answer({}, Stage.STORED)
            case ExtendOrder() | EndOrder():
                return self._overridden(session, request, order)
            case ArmOrder():
                before = session.serial
                self._confirm_arm(session, request.author)
                self._recipes.took(session, None)
                self._overriding.discard(session, request.author, asked_by(request))
                self._administration.tell_change(
                    session, AdminEvent.ARM_CONFIRMED, request.author, before, session.serial, asked_by(request)
                )
                return Answer({}, Stage.STORED)
            case DiffQuery() | BlameQuery():
                return self._comparisons.answer(session, request, order)
            case FaultOrder(fault):
                _misbehave(session, fault)
                return Answer({}, Stage.STORED)
            case AuthorityOrder() | HoldOrder() | ReleaseOrder():
                self._authorities.carry_out(session, request, order)
                return Answer({}, Stage.STORED)
            case _:
                raise TypeError(type(order).__name__)

    def _handled(self, session: ArmSession, request: Request, order: OpenHandle | CloseHandle) -> Answer:
        if isinstance(order, CloseHandle):
            self._notices.close(order.identifier)
            return Answer(Empty(), Stage.STORED)
        identifier = self._notices.open(request.user, request.conn, session.arm, order.topic)
        return Answer(NotificationHandle(identifier), Stage.STORED)

    def of_fleet(self, stream: Stream, rpc: Rpc, request: Request, order: Outcome) -> Answer:
        """Do what is ordered of the fleet itself, but for a dry run, and the answer.

        Raises:
            BrokerError: why the values of an arm cannot be a recipe.
        """
        if isinstance(order, RecipeDraft):
            values = self._comparisons.values(request, order.source, "params.from")
            order = put_values(stream.state, request, values)
        if request.envelope.dry_run and rpc.access is Access.WRITE:
            order = checked(stream.state, rpc, order)
        match order:
            case Answer():
                return order
            case RecipePut() | RecipeDeletion():
                return self._recipes.carry_out(request, order)
            case _:
                raise TypeError(type(order).__name__)

    def _overridden(self, session: ArmSession, request: Request, order: ExtendOrder | EndOrder) -> Answer:
        asked = asked_by(request)
        if isinstance(order, EndOrder):
            self._overriding.end_all(session, order, request.author, asked)
            return Answer({"ended": list(order.revs), "left": list(order.left)}, Stage.STORED)
        self._overriding.extend(session, order, request.author, asked)
        until = format_time(order.until_us)
        return Answer({"overrides": [{"rev": rev, "until": until} for rev in order.revs]}, Stage.STORED)


def _misbehave(session: ArmSession, fault: Fault) -> None:
    """Tell a simulated arm to misbehave.

    Raises:
        BrokerError: it is not simulated, or refuses the fault.
    """
    adapter = session.adapter
    if not isinstance(adapter, FaultyArm):
        raise BrokerError("unknown_method", f"SimFault: {session.arm} is not simulated")
    try:
        adapter.inject(fault)
    except ArmRefusedError as refused:
        own = (refused.code, refused.sub_code, refused.name)
        raise BrokerError("arm_refused", str(refused), own=own) from refused
