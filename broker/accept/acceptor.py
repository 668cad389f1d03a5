"""Stage 1: a message becomes a decision, a commit and an acknowledgement; the one error boundary of requests."""

from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import chain

import structlog

from broker.accept.ages import check_age, expiry_us
from broker.accept.arrival import Arrival, try_decoding
from broker.accept.decision import NOWHERE, Decision, method_of, only_checked, request_of
from broker.accept.denials import Denials
from broker.accept.fan_out import FanOut
from broker.accept.fleet_questions import FleetQuestions
from broker.accept.group_requests import GroupRequests, asked_of
from broker.accept.intake import Acks
from broker.accept.known_ids import NOTHING_DONE, KnownIds
from broker.accept.long_reads import Query
from broker.accept.options import EXTEND, check_options
from broker.accept.orders import Orders
from broker.accept.quarantine import Quarantine
from broker.accept.waiting import YOUNG_S, check_waiting
from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import batch_of
from broker.arms.jobs import ChangeJob, Waiter, job_of
from broker.arms.stream import Stream
from broker.plans.plans import Plans
from broker.publish.notices import Notices
from broker.record.fleet_events import FleetEvents
from broker.record.ledger import Ledger
from broker.record.replies import Replies, refusal
from broker.settings import Settings
from broker.settle.rights.policing import NeedsSecondError
from broker.settle.settler import Settler
from broker.store.batch import Batch, RequestKey
from broker.store.rows import RequestRow
from broker.topics import Topics
from handlers.rpc.fleet_queries import FindQuery, FleetHistoryQuery
from handlers.rpc.outcome import (
    CHANGES,
    Answer,
    BatchProposal,
    Change,
    DiffQuery,
    Outcome,
    PlanOrder,
    Proposal,
    RolloutOrder,
)
from handlers.rpc.request import Request
from handlers.rpc.row import Address
from handlers.rpc_table import RPC_TABLE
from schema.arms import Authority
from schema.codecs.times import format_time
from schema.envelope import Reply, Stage
from schema.errors import BrokerError, Retry

log = structlog.get_logger()
_CONTROL = Authority.CONTROL


class Acceptor:
    """Decides every request in the order in which it is given; never waits for an arm."""

    def __init__(
        self,
        *,
        acks: Acks,
        ledger: Ledger,
        replies: Replies,
        settler: Settler,
        orders: Orders,
        notices: Notices,
        quarantine: Quarantine,
        denials: Denials,
        decision: Decision,
        fleet_events: FleetEvents,
        questions: FleetQuestions,
        plans: Plans,
        sessions: dict[str, ArmSession],
        settings: Settings,
        topics: Topics,
    ) -> None:
        self._acks, self._topics = acks, topics
        self._ledger, self._replies, self._settler = ledger, replies, settler
        self._orders, self._notices, self._quarantine = orders, notices, quarantine
        self._known_ids = KnownIds(ledger.store)
        self._denials, self._sessions = denials, sessions
        self._decision, self._fleet_events, self.questions = decision, fleet_events, questions
        self._plans, self._fan_out = plans, FanOut(plans, settings, topics)
        self.groups = GroupRequests(ledger.store.reserve, settings)
        self.follow(settings)
        self._open: deque[list[Arrival]] = deque()
        """Decided, but not committed yet; by the batch that they wait for, oldest first."""
        self._batch: Batch | None = None
        """The newest of these batches."""
        self.closing = False

    def look(self, arrivals: Sequence[Arrival]) -> None:
        """Read messages that are decided next, without a pause in between, and look their ids up at once."""
        asked: dict[RequestKey, Arrival] = {}
        for arrival in arrivals:
            self._read(arrival)
            name = (arrival.topic.user, arrival.topic.conn, arrival.id)
            if arrival.remembered and name not in asked:  # of two at once the second is looked for when it is decided
                asked[name] = arrival
        if asked:
            for name, key in self._ledger.store.unused(asked).items():
                asked[name].key = key

    def accept(self, arrival: Arrival, now_s: float) -> None:
        """Decide one message; its acknowledgement follows the commit of the decision."""
        arrival.at_us, arrival.now_s = self._ledger.clock.now_us(), now_s
        try:
            try:
                self._decide(arrival)
            except NeedsSecondError as second:
                self._propose(arrival, second)
        except BrokerError as error:
            self._refuse(arrival, error)
        except Exception:
            self._ledger.counters.add("request_failed", arrival.topic.user)
            log.exception("request_failed", arm=arrival.topic.arm, method=arrival.topic.method)
            self._refuse(arrival, BrokerError("internal", "the service failed on this request"))
        store = self._ledger.store
        if store.batch is not self._batch:
            if store.settled:
                self._pass((arrival,))
                return
            self._batch = store.batch
            self._open.append([])
            store.batch.on_commit(self._committed)
            store.flush_soon()
        self._open[-1].append(arrival)

    def _read(self, arrival: Arrival) -> None:
        """Decode a message, unless it is refused unread."""
        arrival.rpc = RPC_TABLE.get(arrival.topic.method)
        if arrival.barred is None:
            try_decoding(arrival)

    def limit(self, arrival: Arrival, error: BrokerError) -> None:
        """Answer a request that is not decided, for its user sends too much; nothing of it is stored."""
        self._read(arrival)  # whatever is wrong with it: its id is wanted, if there is one
        self._replies.owe(arrival.topic.user)
        self._give(arrival, self._refusal(arrival, error))
        arrival.let_go()

    def follow(self, settings: Settings) -> None:
        """Decide by these settings from now on."""
        self._settings = settings
        self._users = self._replies.users = self._decision.follow(settings)
        self.groups.follow(settings, self._users)
        self._fan_out.follow(settings)
        self._plans.follow(settings.fleet.rate)
        self._ledger.traffic.follow(settings.clients)

    def refuse_uncommitted(self, error: BrokerError) -> None:
        """Answer everything that was decided but could not be committed; it stays unacknowledged."""
        for arrival in chain.from_iterable(self._open):
            self._replies.give(arrival.address(self._topics), self._refusal(arrival, error))
        self._open.clear()

    def _committed(self) -> None:
        """The oldest open decisions are committed."""
        self._pass(self._open.popleft())

    def _pass(self, arrivals: Sequence[Arrival]) -> None:
        """Nothing more is to be done for these messages to be safe."""
        if self._quarantine.starts:
            for arrival in arrivals:
                self._quarantine.passed(arrival.message)
        self._acks.all_done([arrival.ticket for arrival in arrivals if arrival.ticket is not None])

    def _decide(self, arrival: Arrival) -> None:
        """All checks in their order, then the handler, then what its outcome asks for."""
        if (wrong := arrival.barred or arrival.wrong) is not None:
            raise wrong
        topic, users = arrival.topic, self._users
        if self._notices.handles:
            self._notices.touch(topic.user, topic.conn)
        if arrival.remembered and not arrival.key and self._repeated(arrival):
            return
        session = self._sessions.get(topic.arm)
        if (session is None or self.closing) and self._was_for_group(arrival):
            return
        state = NOWHERE if session is None else session.state
        if state.authority is not _CONTROL and only_checked(arrival, session):
            arrival.checked_only, arrival.remembered = True, False
        expires_us = expiry_us(arrival, users, self._ledger.clock) if arrival.timed else 0
        rpc = method_of(arrival, session, self._sessions, self._settings)
        asked = arrival.envelope
        if (
            asked.unit or asked.ttl_ms or asked.valid_for_ms or asked.when
            or asked.until_us is not None or asked.group is not None or rpc.name == EXTEND
        ):  # fmt: skip
            check_options(arrival, rpc, users)
        request = request_of(arrival, self._settings)
        outcome = self._decision.of(
            rpc, session, request, checked_only=arrival.checked_only, wrong=arrival.params_error
        )
        sent_s = arrival.message.sent_after_s
        if arrival.now_s - (arrival.message.received_s if sent_s is None else sent_s) >= YOUNG_S:
            check_waiting(arrival, self._settings, users, state, outcome)
        if type(outcome) is Answer or session is None:
            self._answer(arrival, session, outcome)
        elif type(outcome) is Proposal or isinstance(outcome, CHANGES):
            self._change(arrival, session, request, outcome, expires_us)
        else:
            self._order(arrival, session, request, outcome)

    def _propose(self, arrival: Arrival, second: NeedsSecondError) -> None:
        """Let a request to one arm wait for a second person.

        Raises:
            BrokerError: it may not, or there is no room.
        """
        outcome = second.outcome
        check_waiting(arrival, self._settings, self._users, self._sessions[arrival.topic.arm].state, outcome)
        if isinstance(outcome, CHANGES):
            check_age(arrival, outcome)
        self._fan_out.propose(arrival, second, self._request_row(arrival))
        self._audit(arrival, decision="proposed")

    def _was_for_group(self, arrival: Arrival) -> bool:
        """Whether a request is for a group; then the same checks, and its one answer, or a row for each of its arms.

        Raises:
            BrokerError: shutting_down, whatever it is for; what is wrong with it.
        """
        if self.closing:
            raise BrokerError("shutting_down", "the service is ending; send the same request again")
        if not arrival.topic.arm.startswith("@") or (arrival.rpc is not None and arrival.rpc.any_arm):
            return False
        expires_us = expiry_us(arrival, self._users, self._ledger.clock)
        rpc, group = self.groups.admit(arrival)
        if Address.ROWS in rpc.address:
            row = None if arrival.envelope.dry_run else self._request_row(arrival)
            if row is not None and self._settler.policing.policy is not None:
                sessions = (self._sessions[arm].state for arm in group.arms if arm in self._sessions)
                self._settler.policing.count_group(rpc, request_of(arrival, self._settings), sessions)
            self._fan_out.begin(arrival, rpc, group, expires_us, row)
            return True
        stream, request = self._fleet_events.stream, request_of(arrival, self._settings)
        if self._settler.policing.policy is not None:
            self._settler.policing.check_fleet(rpc, request, asked_of(arrival, rpc, group))
        outcome = rpc.decide(stream.state, request)
        if isinstance(outcome, FindQuery | FleetHistoryQuery | DiffQuery):
            self.questions.ask(group, request, outcome, partial(self._told, arrival, stream))
            return True
        if isinstance(outcome, Query):
            self.questions.reads.ask(arrival.topic.user, stream.arm, outcome, partial(self._told, arrival, stream))
            return True
        if isinstance(outcome, RolloutOrder):
            row = None if arrival.envelope.dry_run else self._request_row(arrival)
            self._fan_out.roll_out(arrival, outcome, group, row)
            return True
        if isinstance(outcome, PlanOrder):
            self._done(arrival, stream, self._plans.carry_out(request, outcome))
            return True
        self._done(arrival, stream, self._orders.of_fleet(stream, rpc, request, outcome))
        return True

    def _told(self, arrival: Arrival, stream: Stream, found: Answer | BrokerError) -> None:
        """A question that is answered piece by piece has its answer."""
        if isinstance(found, BrokerError):
            self._give(arrival, self._refusal(arrival, found))
        else:
            self._answer(arrival, stream, found)

    def _repeated(self, arrival: Arrival) -> bool:
        """Whether the id is known; then its outcome is given again, or will be.

        Raises:
            BrokerError: id_reused.
        """
        row = self._known_ids.find(arrival)
        if row is None:
            return False
        if row.fingerprint != arrival.fingerprint():
            when = format_time(row.at_us)
            raise BrokerError("id_reused", f"id {arrival.id}: used at {when} for {row.method} of {row.arm}")
        job = self._settler.unsettled.get(row.n)
        address = arrival.address(self._topics)
        warnings = tuple(arrival.warnings)
        if row.arm.startswith("@") and self._plans.repeated(row, address, warnings):
            return True
        session = self._sessions.get(row.arm)
        if session is not None and job is not None and (job.replied is None or not row.outcome):
            self._settler.wait(session, job, Waiter(address, arrival.envelope.wait, warnings=warnings))
            return True
        if not row.outcome:
            text = f"{row.arm} did not answer before it was taken out, or what was kept of the change is damaged"
            raise BrokerError("outcome_unknown", f"{text}. {NOTHING_DONE}")
        self._give(arrival, self._replies.repeat(session, row, warnings))
        return True

    def _refusal(self, arrival: Arrival, error: BrokerError) -> Reply:
        arrival.address(self._topics)  # may add its own warning
        session = self._sessions.get(arrival.topic.arm)
        counters = (session.state.rev, session.state.seq) if session is not None else (0, 0)
        if arrival.topic.arm.startswith("@") and arrival.topic.arm[1:] in self.groups.groups:
            counters = self._fleet_events.counters
        topic, warnings = arrival.topic, tuple(arrival.warnings)
        return refusal(error, counters, arrival.shown_id, topic.arm, topic.method, arrival.at_us, warnings)

    def _refuse(self, arrival: Arrival, error: BrokerError) -> None:
        """Answer a refusal; it is remembered unless it asks for the same id again."""
        topic, address = arrival.topic, arrival.address(self._topics)
        if error.kind == "not_permitted":
            told = topic.of(self.groups.told_of(topic.arm)) if topic.arm.startswith("@") else topic
            self._denials.add(told, arrival.id, error, proven=self._settings.mqtt.identity == "server-acl")
        reply = self._refusal(arrival, error)
        self._ledger.counters.add("request_refused", topic.user)
        room = not self._ledger.store.reserve.full
        if arrival.remembered and error.retry is not Retry.SAME_ID and self._known_ids.is_new(arrival) and room:
            self._audit(arrival, decision="refused", kind=error.kind)
            self._replies.remember(self._request_row(arrival), address, reply)
            self._ledger.store.flush_soon()
        else:
            self._give(arrival, reply)
            self._note(arrival, decision="refused", kind=error.kind)
        arrival.let_go()

    def _audit(self, arrival: Arrival, **entry: object) -> None:
        """Append what was decided on a request to the audit chain."""
        topic = arrival.topic
        self._ledger.audit(
            at=arrival.at_us, user=topic.user, conn=topic.conn, arm=topic.arm, method=topic.method, id=arrival.id,
            **entry,
        )  # fmt: skip

    def _note(self, arrival: Arrival, **entry: object) -> None:
        """Audit what changed nothing, where the settings ask for it; nobody waits for that."""
        if self._settings.audit.reads:
            self._audit(arrival, **entry)
            self._ledger.store.flush_later()

    def _give(self, arrival: Arrival, reply: Reply) -> None:
        """Answer once everything decided so far is committed; nothing is remembered."""
        self._replies.give_committed(arrival.address(self._topics), reply)

    def _request_row(self, arrival: Arrival) -> RequestRow:
        number = self._ledger.new_change()
        topic, address = arrival.topic, arrival.address(self._topics)
        return RequestRow(
            n=number, user=topic.user, conn=topic.conn, id=arrival.id, fingerprint=arrival.fingerprint(), arm=topic.arm,
            method=topic.method, at_us=arrival.at_us, address=address.topic, correlation=address.correlation,
            codec=address.codec, key=arrival.key,
        )  # fmt: skip

    def _answer(self, arrival: Arrival, session: Stream | None, outcome: Outcome) -> None:
        if not isinstance(outcome, Answer):
            raise TypeError(type(outcome).__name__)
        counters = (session.state.rev, session.state.seq) if session is not None else (0, 0)
        topic, address, warnings = arrival.topic, arrival.address(self._topics), tuple(arrival.warnings)
        answer = self._replies.answer(counters, outcome, arrival.id, topic.arm, topic.method, warnings)
        self._replies.give_committed(address, answer)
        self._note(arrival, decision=answer.stage.value)

    def _order(self, arrival: Arrival, session: ArmSession, request: Request, outcome: Outcome) -> None:
        if isinstance(outcome, Query):
            self.questions.reads.ask(arrival.topic.user, session.arm, outcome, partial(self._told, arrival, session))
        else:
            self._done(arrival, session, self._orders.carry_out(session, request, outcome))

    def _done(self, arrival: Arrival, session: Stream, answer: Answer) -> None:
        """Answer what was carried out; what changed something is remembered."""
        if answer.stage is not Stage.STORED:
            self._answer(arrival, session, answer)
            return
        address = arrival.address(self._topics)
        topic, state = arrival.topic, session.state
        reply = self._replies.answer(
            (state.rev, state.seq), answer, arrival.id, topic.arm, topic.method, tuple(arrival.warnings)
        )
        self._audit(arrival, decision="done")
        self._replies.remember(self._request_row(arrival), address, reply)
        self._ledger.store.flush_soon()

    def _change(
        self, arrival: Arrival, session: ArmSession, request: Request, outcome: Change, expires_us: int
    ) -> None:
        """Put an accepted change into the queue of its arm, with its request row."""
        if arrival.age_unknown:
            check_age(arrival, outcome)
        row = self._request_row(arrival)
        address = arrival.address(self._topics) if arrival.reply_to is None else arrival.reply_to
        expires = self._ledger.clock.deadline(expires_us) if expires_us else 0.0
        if isinstance(outcome, Proposal):
            job: ChangeJob = job_of(request, outcome, n=row.n, request_n=row.n, expires=expires)
            tightens = not (outcome.loosening or outcome.unchanged)
        else:
            job = batch_of(request, outcome, n=row.n, request_n=row.n, expires=expires)
            tightens = isinstance(outcome, BatchProposal) and outcome.tightens
        job.trace, job.received_s = arrival.message.trace, min(arrival.message.received_s, arrival.now_s)
        waiter = Waiter(address, arrival.envelope.wait, row.n, tuple(arrival.warnings))
        self._settler.admit(session, job, row, waiter)
        arrival.tightened = tightens
