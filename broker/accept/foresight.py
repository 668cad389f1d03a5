"""What would come of a request, before it is its turn."""

from collections.abc import Mapping

from broker.accept.arrival import Arrival, decode
from broker.accept.decision import check_lock, check_policy, method_of, only_checked, request_of
from broker.arms.arm_session import ArmSession
from broker.settings import Settings, Users
from handlers.items.verbs import surely_loosens
from handlers.rpc.outcome import BatchProposal, Proposal
from handlers.rpc_table import MAY_TIGHTEN, RPC_TABLE
from schema.items import ITEMS


class Foresight:
    """Looks at requests; nothing comes of it."""

    def __init__(self, sessions: Mapping[str, ArmSession], settings: Settings) -> None:
        self._sessions = sessions
        self.follow(settings)

    def follow(self, settings: Settings) -> None:
        """Judge by these settings from now on."""
        self._settings, self._users = settings, Users(settings)

    def tightens(self, arrival: Arrival) -> bool:
        """Whether a request would be accepted now as a change that tightens limits."""
        topic = arrival.topic
        session = self._sessions.get(topic.arm)
        if session is None or arrival.barred is not None or topic.method not in MAY_TIGHTEN:
            return False
        arrival.rpc = RPC_TABLE[topic.method]
        try:
            decode(arrival)
            if arrival.envelope.dry_run or only_checked(arrival, session):
                return False
            rpc = method_of(arrival, session, self._sessions, self._settings)
            if arrival.params_error is not None:
                return False
            item, params = ITEMS.get(rpc.item), arrival.params
            if item is not None and isinstance(params, item.record) and surely_loosens(session.state, item, params):
                return False  # most do, and so are decided once, in their turn
            request = request_of(arrival, self._settings)
            check_policy(rpc, session, request, self._users)
            check_lock(rpc, session, request, self._users)
            outcome = rpc.decide(session.state, request)
        except Exception:  # noqa: BLE001 - it is refused, or answered as any other that fails, when it is decided
            return False
        return isinstance(outcome, Proposal | BatchProposal) and outcome.tightens
