"""Replies: built, remembered, addressed, and found again for a repeat."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import Address, ChangeJob, Waiter
from broker.record.ledger import Ledger
from broker.record.publications import ReplyPublication
from broker.record.short_replies import short
from broker.settings import Users
from broker.store.rows import RequestRow, RequestUpdate
from broker.topics import replied_user
from handlers.batch.outcomes import WHOLE_KEY
from handlers.items.settling import agrees
from handlers.methods.factory import RESTORE_FACTORY, factory_slots
from handlers.rpc.outcome import Answer
from handlers.rpc_table import reply_message
from handlers.state.places import slot_of
from schema.codecs import CODECS
from schema.codecs.plain import from_plain
from schema.codecs.times import parse_time
from schema.envelope import ErrorBody, Reply, Stage, Warned
from schema.errors import BrokerError, Retry
from schema.items import SLOT_OF
from schema.messages import Empty, Message

EXPIRY_S = 300
CODEC_BY_NAME = {codec.name: codec for codec in CODECS.values()}
JSON = CODEC_BY_NAME["json"]
EMPTY = Empty()
_STORED, _APPLIED = Stage.STORED, Stage.APPLIED


def error_body(error: BrokerError) -> ErrorBody:
    """The error of a reply."""
    return ErrorBody(
        error.code,
        error.sub_code,
        error.name,
        error.kind,
        error.message,
        error.retry.value,
        error.violations,
        error.retry_after_ms,
        error.rule,
    )


def refusal(
    error: BrokerError,
    counters: tuple[int, int],
    bare_id: str,
    arm: str,
    method: str,
    at_us: int,
    warnings: tuple[Warned, ...],
) -> Reply:
    """The reply to a request that is refused, or whose outcome is not known; `counters` are the arm's rev and seq."""
    return Reply(
        id=bare_id,
        arm=arm,
        method=method,
        ok=False,
        stage=Stage.REFUSED if error.retry is not Retry.REPEAT else Stage.STORED,
        final=error.retry not in (Retry.SAME_ID, Retry.REPEAT),
        rev=counters[0],
        seq=counters[1],
        at_us=at_us,
        error=error_body(error),
        warnings=warnings,
    )


def from_outcome(outcome: bytes, method: str) -> Reply:
    """The reply in a remembered outcome (JSON bytes of `encode_reply`)."""
    document: dict[str, Any] = msgspec.json.decode(outcome)
    message = None if document["arm"].startswith("@") else reply_message(method)

    def value(name: str) -> Message | dict[str, Any] | None:
        found = document.get(name)
        if found == {} and message is not None:
            return EMPTY
        return from_plain(found, message) if found is not None and message is not None else found

    desired = value("desired")
    error = document.get("error")
    return Reply(
        id=document["id"],
        arm=document["arm"],
        method=document["method"],
        ok=document["ok"],
        stage=Stage(document["stage"]),
        final=document["final"],
        rev=document["rev"],
        seq=document["seq"],
        at_us=parse_time(document["at"]),
        result=value("result"),
        error=msgspec.convert(error, ErrorBody, strict=False) if error is not None else None,
        warnings=tuple(Warned(w["name"], w["message"], w.get("path", "")) for w in document["warnings"]),
        desired=desired if isinstance(desired, Message) else None,
        plan=document.get("plan", 0),
        until_us=parse_time(document["until"]) if "until" in document else 0,
    )


class Replies:
    """Gives replies; those of remembered requests survive a crash until the MQTT server has them."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        ledger.tell_reply = self._tell
        self.users: Users | None = None
        """Who gets short replies."""
        self.on_traced: Callable[[Address, Reply], None] | None = None
        """Gets the replies of traced requests."""
        self.owed: defaultdict[str, int] = defaultdict(int)
        """How many requests of each user that came in have no reply yet."""

    def owe(self, user: str) -> None:
        """A request came in that will have a reply."""
        self.owed[user] += 1

    def give(self, address: Address, reply: Reply, request_n: int = 0, payload: bytes | None = None) -> None:
        """Publish a reply now; with `request_n` the row is told once the MQTT server took it."""
        self._tell(self._publication(address, reply, payload, request_n))

    def give_then(self, address: Address, reply: Reply, request_n: int = 0, payload: bytes | None = None) -> None:
        """As `give`, once what is decided now is committed; the caller sees to that."""
        self._ledger.store.batch.tellings.append(self._publication(address, reply, payload, request_n))

    def give_committed(self, address: Address, reply: Reply) -> None:
        """Give a reply once everything decided so far is committed; at once if it is."""
        if self._ledger.store.settled:
            self.give(address, reply)
        else:
            self.give_then(address, reply)
            self._ledger.store.flush_soon()

    def _publication(
        self, address: Address, reply: Reply, payload: bytes | None, request_n: int = 0,
        behind: ArmSession | None = None,
    ) -> ReplyPublication:  # fmt: skip
        """A reply as it is sent; `payload` is its JSON, if that is made already."""
        users, codec = self.users, CODEC_BY_NAME[address.codec]
        wants_short = users is not None and users.any_short and self._wants_short(address, users)
        if wants_short:
            payload = short(reply, codec, error_body)
        elif payload is None or codec is not JSON:
            payload = codec.encode_reply(reply)
        return ReplyPublication(
            address.topic, payload, codec.content_type, address.correlation, EXPIRY_S, trace=address.trace,
            store=self._ledger.store, address=address, reply=reply, codec=None if wants_short else codec,
            error_of=error_body, request_n=request_n, behind=behind,
        )  # fmt: skip

    def _tell(self, told: ReplyPublication) -> None:
        """Publish a reply.

        Of the last one of a change, `behind` its event, the arm is marked once both are taken. Where that event waits
        in the store it is published, and marked, behind the reply.
        """
        reply, address, behind = told.reply, told.address, told.behind
        user = address.user
        left = self.owed[user] - 1
        if left > 0:
            self.owed[user] = left
        else:
            del self.owed[user]
        self._ledger.traffic.answered(reply, address.codec, user)
        if address.trace and self.on_traced is not None:
            self.on_traced(address, reply)
        told.watched = told.request_n > 0 if behind is None else behind.given_seq >= reply.seq
        self._ledger.outbox.send(told)

    def _wants_short(self, address: Address, users: Users) -> bool:
        return users.wants_short(address.user or replied_user(address.topic))

    def remember(self, row: RequestRow, address: Address, reply: Reply) -> None:
        """Store a request that is answered at once, and answer it after the commit."""
        outcome = JSON.encode_reply(reply)
        batch = self._ledger.store.batch
        batch.add_request(msgspec.structs.replace(row, outcome=outcome, settled=True, reply_open=True))
        self.give_then(address, reply, row.n, outcome)

    def change_reply(
        self,
        session: ArmSession,
        job: ChangeJob,
        *,
        ok: bool,
        stage: Stage,
        final: bool,
        seq: int = 0,
        result: Message | dict[str, Any] | None = None,
        error: BrokerError | None = None,
        warnings: tuple[Warned, ...] = (),
        at_us: int = 0,
    ) -> Reply:
        """The reply of a change: its own revision (the arm's present one if it takes none) and its event's seq."""
        state = session.state
        return Reply(
            id=job.request_id.rpartition("/")[2],
            arm=state.arm,
            method=job.method,
            ok=ok,
            stage=stage,
            final=final,
            rev=job.rev or state.rev,
            seq=seq,
            at_us=at_us or self._ledger.clock.now_us(),
            result=result if result is not None or not ok else EMPTY,
            error=error_body(error) if error is not None else None,
            warnings=job.warnings + warnings,
            plan=0 if job.terms is None else job.terms.plan,
            until_us=0 if job.terms is None else job.terms.until_us,
        )

    def deliver(self, session: ArmSession, job: ChangeJob, reply: Reply, *, settled: bool) -> None:
        """Store the latest outcome of a change and give it to everybody who waits for it."""
        if job.told is not None:
            job.told(job, reply)
        waiters, job.waiters = job.waiters, []
        if job.replied is None and waiters:
            job.replied = reply.stage
        first: Waiter | None = None
        for waiter in waiters:
            if waiter.request_n:
                first = waiter
                break
        owed = first is not None or (job.replied is _STORED and not job.committed)
        outcome, batch = JSON.encode_reply(reply), self._ledger.store.batch
        rev = job.rev or _origin(session, job)
        if job.request_n:
            end = batch.change_updates.get(job.n)
            says_row = (
                reply.stage is _APPLIED and reply.result is EMPTY and end is not None and end.seq == reply.seq
                and end.settled_at_us == reply.at_us and not (reply.plan or reply.until_us)
            )  # fmt: skip
            update = RequestUpdate(
                n=job.request_n, outcome=outcome, reply_open=owed, rev=rev,
                applied_rev=reply.rev if says_row else 0, warnings=reply.warnings,
            )  # fmt: skip
            batch.update_request(update)
        if first is not None:
            given, payload = (self._for_waiter(first, reply), None) if first.warnings else (reply, outcome)
            if settled:
                job.reply_follows = True
                batch.tellings.append(self._publication(first.address, given, payload, behind=session))
            else:
                self.give_then(first.address, given, job.request_n, payload)
        for waiter in waiters:
            if not waiter.request_n:
                self.give_then(waiter.address, self._repeat(session, waiter, reply, rev))

    def _for_waiter(self, waiter: Waiter, reply: Reply) -> Reply:
        return msgspec.structs.replace(reply, warnings=reply.warnings + waiter.warnings) if waiter.warnings else reply

    def _repeat(self, session: ArmSession, waiter: Waiter, reply: Reply, rev: int) -> Reply:
        known = self._for_waiter(waiter, reply)
        return msgspec.structs.replace(known, duplicate=True, in_force=in_force(session, reply, rev))

    def repeat(self, session: ArmSession | None, row: RequestRow, warnings: tuple[Warned, ...]) -> Reply:
        """The remembered outcome of a request, marked as a duplicate.

        Raises:
            BrokerError: outcome_unknown, where it cannot be read.
        """
        try:
            reply = from_outcome(row.outcome, row.method)
        except (msgspec.MsgspecError, BrokerError, ValueError, KeyError, TypeError) as error:
            raise BrokerError("outcome_unknown", f"id {row.id}: what was answered cannot be read: {error}") from error
        force = in_force(session, reply, row.rev) if session is not None else False
        return msgspec.structs.replace(reply, duplicate=True, in_force=force, warnings=reply.warnings + warnings)

    def answer(
        self,
        counters: tuple[int, int],
        answer: Answer,
        bare_id: str,
        arm: str,
        method: str,
        warnings: tuple[Warned, ...] = (),
    ) -> Reply:
        """The reply of a read, a dry run or an order to the shell."""
        return Reply(
            id=bare_id,
            arm=arm,
            method=method,
            ok=True,
            stage=answer.stage,
            final=True,
            rev=counters[0],
            seq=counters[1],
            at_us=self._ledger.clock.now_us(),
            result=answer.result,
            warnings=answer.warnings + warnings,
            reported_at_us=answer.reported_at_us,
            desired=answer.desired,
            pending_rev=answer.pending_rev,
            mode_seen_at_us=answer.mode_seen_at_us,
            until_us=answer.until_us,
        )


def _origin(session: ArmSession, job: ChangeJob) -> int:
    """The revision that an unchanged change finds in force."""
    if job.slot[0] == WHOLE_KEY:
        return session.state.rev
    return session.state.desired_rev.get(job.slot, 0)


def in_force(session: ArmSession, reply: Reply, rev: int) -> bool:
    """Whether what a change asked for still holds: what is desired comes from it, and the arm reports the same.

    Of a RestoreFactory that is asked of every slot, of a batch of those that it told of.
    """
    state = session.state
    if not reply.ok or not rev:
        return False
    origins = state.desired_rev
    if reply.method == RESTORE_FACTORY:
        return all(origins.get(slot) == rev and agrees(state, slot) for slot in factory_slots(state))
    told = reply.result.get("items") if isinstance(reply.result, dict) else None
    if isinstance(told, dict):
        slots = [SLOT_OF[path] for path in told if path in SLOT_OF]
        return all(origins.get(slot, 0) <= rev and agrees(state, slot) for slot in slots)
    if any(origin == rev and agrees(state, slot) for slot, origin in origins.items()):
        return True
    override = None if state.overrides is None else state.overrides.find(rev)
    if state.overrides is None or override is None:
        return False
    return all(state.overrides.newest(place) is override and agrees(state, slot_of(place)) for place in override.values)
