"""What a start finds: arms as the store knows them, changes not settled, replies and events not published."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar

import msgspec

from broker.accept.quarantine import STARTS
from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import WHOLE, BatchJob, fill
from broker.arms.damages import Damages, hold
from broker.arms.jobs import Address, ChangeJob, Waiter
from broker.blobs import unpack_description, unpack_setters
from broker.life import SENT, Origin, State
from broker.record.administration import SETTINGS, Administration
from broker.record.ledger import BATCH, RESTORE, Ledger
from broker.record.override_rows import restore_ground, restore_override
from broker.record.replies import Replies, from_outcome
from broker.settle.fatal_reads import READS_KEY, fatal_reads
from broker.settle.settler import Settler
from broker.store.meta_keys import DAMAGED, RENAMED
from broker.store.repair import ENDED
from broker.store.restored import FENCE_KEY, RESTORED_KEY, KnownFence
from broker.store.rows import (
    ArmRow,
    ChangeRow,
    ChangeUpdate,
    Damage,
    FirstRow,
    GroundRow,
    ItemRow,
    Loaded,
    OverrideRow,
    RequestRow,
)
from broker.store.store import Store
from handlers.methods.factory import factory_slots
from handlers.overrides.returns import aim_of
from handlers.state.places import differing_parts
from handlers.state.provenance import PARTED, numbers_of
from schema.arms import Verb
from schema.codecs.json_codec import unpack
from schema.envelope import Author, Stage, Wait, Warned
from schema.errors import BrokerError
from schema.events import AdminEvent
from schema.items import ITEMS
from schema.joint_items import JointParameterMap

R = TypeVar("R", ArmRow, ItemRow, FirstRow, GroundRow, OverrideRow)

_warnings = msgspec.json.Decoder(tuple[Warned, ...]).decode
UNUSABLE = (msgspec.MsgspecError, BrokerError, ValueError, KeyError, TypeError)
"""What bytes that nobody can use may raise, although they are what was written."""


def restore_arm(session: ArmSession, row: ArmRow, epoch: int) -> None:
    """The counters and description of an arm, whose last command is of `epoch` at most."""
    state = session.state
    state.rev, state.seq, state.adopted = row.rev, row.seq, row.adopted
    state.read_at_us, state.mode_seen_at_us = row.read_at_us, row.mode_seen_at_us
    session.cmd_seq, session.published_seq, session.sent = row.cmd_seq, row.published_seq, (epoch, row.cmd_seq)
    session.serial, session.description = row.serial, row.description
    session.heads = msgspec.json.decode(row.heads, type=dict[str, int])
    if row.description:
        state.description, state.described_at_us = unpack_description(row.description)


@lru_cache(maxsize=4096)
def _slot(key: str, mode: int) -> tuple[str, int]:
    """A slot, one for all arms."""
    return key, mode


def restore_item(session: ArmSession, row: ItemRow) -> None:
    """One slot of an arm; an item of another version is passed over."""
    item = ITEMS.get(row.key)
    if item is None:
        return
    slot, state = _slot(row.key, row.mode), session.state
    state.desired[slot] = unpack(row.desired, item.record)
    state.reported[slot] = unpack(row.reported, item.record)
    state.desired_rev[slot], state.last_rev[slot] = row.desired_rev, row.last_rev
    state.desired_by[slot], state.reported_by[slot] = unpack_setters(row.set_by)


def _restore_first(session: ArmSession, row: FirstRow) -> None:
    """What was adopted of a slot that the arm cannot reset."""
    if row.key in ITEMS:
        session.state.first[_slot(row.key, row.mode)] = unpack(row.value, ITEMS[row.key].record)


def _restore_known(loaded: Loaded, session: ArmSession, row: ArmRow) -> None:
    """An arm, and what others gave it as far as that is known."""
    restore_arm(session, row, loaded.epoch - 1)
    session.restored_rev = int(loaded.meta.get(RESTORED_KEY + row.arm, 0))
    if known := loaded.meta.get(FENCE_KEY + row.arm):
        session.foreign_fence, session.fence_held = msgspec.json.decode(known, type=KnownFence)


def restore(sessions: dict[str, ArmSession], loaded: Loaded, damages: Damages) -> None:
    """All arms that the settings still name; one whose rows are damaged, or cannot be used, is held."""
    _restore_rows(sessions, damages, loaded.arms, partial(_restore_known, loaded), "arm")
    _restore_rows(sessions, damages, _taken(sessions, loaded.items), restore_item, "item")
    _restore_rows(sessions, damages, loaded.firsts, _restore_first, "first_value")
    _restore_rows(sessions, damages, loaded.grounds, restore_ground, "ground")
    _restore_rows(sessions, damages, loaded.overrides, restore_override, "override")
    for session in sessions.values():
        if damaged := loaded.meta.get(DAMAGED + session.arm):
            hold(session, damaged)


def _taken(sessions: Mapping[str, ArmSession], rows: list[ItemRow]) -> Iterator[ItemRow]:
    """The rows of these arms, each let go of when it was looked at: they are most of what a start reads."""
    left: list[ItemRow] = []
    rows.reverse()
    while rows:
        row = rows.pop()
        if row.arm in sessions:
            yield row
        else:
            left.append(row)
    rows.extend(left)


def _restore_rows(
    sessions: dict[str, ArmSession],
    damages: Damages,
    rows: Iterable[R],
    put: Callable[[ArmSession, R], None],
    table: str,
) -> None:
    """Put the rows of a table into their arms."""
    for row in rows:
        if (session := sessions.get(row.arm)) is not None:
            try:
                put(session, row)
            except UNUSABLE as error:
                key = f"{row.key}/{row.mode}" if isinstance(row, ItemRow | FirstRow | GroundRow) else ""
                damages.distrust(session, Damage(table, row.arm, key, f"it cannot be used: {error}"))


def _job(session: ArmSession, row: ChangeRow, request: RequestRow | None, ledger: Ledger) -> ChangeJob:
    """The job of a change that was not settled."""
    expires = ledger.clock.deadline(row.expires_us)
    known: dict[str, Any] = {
        "n": row.n, "request_n": 0 if request is None else row.n, "rev": row.rev, "slot": (row.key, row.mode),
        "loosening": row.loosening, "unchanged": row.rev == 0, "author": Author(row.user, row.conn, row.proven),
        "request_id": row.request_id, "method": row.method, "reason": row.reason, "expires": expires,
        "at_us": row.at_us, "state": State.RESUMED if row.state in SENT else State.ACCEPTED, "epoch": row.epoch,
        "cmd_seq": row.cmd_seq, "committed": True, "origin": Origin.FOUND, "terms": row.terms,
        "back": 0 if row.terms is None else row.terms.returned_from,
    }  # fmt: skip
    if row.terms is not None and row.terms.when_idle:
        known["confirmed"] = row.state == State.ACCEPTED
    job: BatchJob | ChangeJob
    if row.warnings:
        known["warnings"] = _warnings(row.warnings)
    if row.verb in (RESTORE, BATCH):
        verb = Verb.RESET if row.verb == RESTORE else Verb.SET
        job = fill(
            BatchJob(item=WHOLE, verb=verb, wanted=None, **known), row.before, row.after, factory_slots(session.state)
        )
        if job.over:
            job.expires = ledger.clock.monotonic()
    else:
        item = ITEMS[row.key]
        wanted = unpack(row.after, item.record) if row.after is not None else None
        job = ChangeJob(item=item, verb=Verb(row.verb), wanted=wanted, **known)
    if request is not None and request.outcome:
        job.replied = Stage.STORED
    elif request is not None:
        address = Address(request.address, request.correlation, request.codec)
        job.waiters.append(Waiter(address, Wait.APPLIED, request.n))
    return job


def _desire_again(session: ArmSession, job: ChangeJob) -> None:
    """What a change asks for is desired, and its numbers are taken, whether or not the arm's rows say so yet.

    A slot's row that is newer than the change says what became of it.
    """
    state = session.state
    state.rev, session.cmd_seq = max(state.rev, job.rev), max(session.cmd_seq, job.cmd_seq)
    session.sent = max(session.sent, (session.sent[0], session.cmd_seq))
    for part in job.parts:
        slot = part.slot
        if not part.rev or slot not in state.desired or part.rev <= state.last_rev.get(slot, 0):
            continue
        state.last_rev[slot] = state.desired_rev[slot] = part.rev
        if part is not job and part.wanted is None:
            continue
        if job.back:
            _desire_return(session, part)
            continue
        if part.wanted is not None:
            state.desired[slot] = part.wanted
        state.desired_by[slot] = session.setter_of(part, state.desired[slot]) if part.wanted is None else part.setter


def _know_setters(session: ArmSession, job: ChangeJob, before: bytes | None) -> None:
    """Who sets each number of what a change wants, and which of them it asks for itself."""
    if isinstance(job, BatchJob):
        for step in job.open:
            if step.wanted is not None and not job.factory:
                step.setter = session.setter_of(step, step.wanted)
    elif job.wanted is not None:
        job.setter, job.named = session.setter_of(job, job.wanted), _parts_of(session, job, before)


def _desire_return(session: ArmSession, job: ChangeJob) -> None:
    """What is in force is desired, unless somebody's change is not settled yet."""
    state, slot = session.state, job.slot
    others = [one.rev for one in session.unsettled() if not one.back and one.of_slot(slot) is not None and one.rev]
    aim = aim_of(state, slot)
    if others:
        state.desired_rev[slot] = max(others)
    elif aim is not None:
        state.desired[slot], state.desired_by[slot] = aim, job.setter


def _parts_of(session: ArmSession, job: ChangeJob, before: bytes | None) -> frozenset[str] | None:
    """The parts that a change asks for by name, None where it asks for the whole.

    Without an end also those that it took over: what differs from what it was decided upon.
    """
    if type(job.wanted) not in PARTED or job.wanted is None:
        return None
    told = None if job.terms is None else job.terms.named
    ends = job.terms is not None and job.terms.until_us > 0
    if ends or (told is None and type(job.wanted) is not JointParameterMap):
        return None if told is None else frozenset(told)
    earlier = [other.wanted for other in session.unsettled() if other.slot == job.slot and other.wanted is not None]
    base = earlier[-1] if earlier else None if before is None else unpack(before, job.item.record)
    taken = numbers_of(job.wanted).keys() if base is None else differing_parts(base, job.wanted)
    return frozenset(taken) | frozenset(told or ())


def requeue(
    sessions: dict[str, ArmSession], loaded: Loaded, ledger: Ledger, settler: Settler, damages: Damages,
    found: Callable[[ChangeJob], None] = lambda _: None,
) -> None:  # fmt: skip
    """Put the changes that were not settled back into the queues of their arms, in order; `found` hears of each."""
    requests = {row.n: row for row in loaded.open_requests}
    reads = fatal_reads(loaded.meta.get(READS_KEY, ""))
    for row in loaded.open_changes:
        session = sessions.get(row.arm)
        if session is None or (row.key not in ITEMS and row.verb not in (RESTORE, BATCH)):
            continue
        try:
            job = _job(session, row, requests.get(row.n), ledger)
        except UNUSABLE as error:
            damages.distrust(session, Damage("change", row.arm, str(row.n), f"it cannot be used: {error}"))
            over = ChangeUpdate(n=row.n, state=State.SETTLED, outcome=ENDED)
            ledger.store.batch.update_change(over)
            continue
        found(job)
        _put_back(session, job, row, settler)
        if row.starts >= STARTS and _gives_up(job, row, reads):
            unread = ", and nobody could read whether the arm took it" if job.state is State.RESUMED else ""
            settler.endings.fail(session, job, BrokerError("quarantined", job.why + unread), "refused", None)
            continue
        if row.state == State.HELD:
            settler.parking.restore(session, job)
        else:
            session.jobs.append(job)
        settler.deadlines.start(session, job)


def _put_back(session: ArmSession, job: ChangeJob, row: ChangeRow, settler: Settler) -> None:
    """What a change asks for counts again."""
    settler.overriding.restore(job)
    _know_setters(session, job, row.before)
    _desire_again(session, job)
    session.count_in(job)
    if job.request_n:
        settler.unsettled[job.request_n] = job
    job.reverts = session.reverts
    sent = [one for one in session.jobs if isinstance(one, ChangeJob) and one.state is State.RESUMED]
    if sent and job.state is State.RESUMED:
        job.origin = Origin.AHEAD
    job.before = session.state.reported.get(job.slot)


def _gives_up(job: ChangeJob, row: ChangeRow, reads: dict[int, int]) -> bool:
    """Whether a change that was open over too many unclean ends is not even read back any more."""
    job.why = f"the service ended uncleanly {row.starts} times while this change was open"
    job.fatal_reads = reads.get(row.n, 0)
    return job.state is not State.RESUMED or job.fatal_reads >= STARTS


def publish_again(
    sessions: dict[str, ArmSession], loaded: Loaded, ledger: Ledger, replies: Replies, damages: Damages
) -> None:
    """Events and replies that the MQTT server may not have, before anything new, as many at once as it takes.

    Those of a change go together, the reply first.
    """

    def give(request: RequestRow, *, mark: bool) -> None:
        address = Address(request.address, request.correlation, request.codec)
        try:
            reply = from_outcome(request.outcome, request.method)
        except UNUSABLE as error:
            damages.tell(Damage("job", request.arm, request.id, f"it cannot be used: {error}"))
            return
        replies.give(address, reply, request.n if mark else 0, request.outcome)

    absent = {row.arm: row.published_seq for row in loaded.arms if row.arm not in sessions}
    ledger.backfill.owe(give, absent)
    for session in sessions.values():
        ledger.backfill.begin(session)
    ledger.backfill.feed()


def tell_renamed(
    sessions: Mapping[str, ArmSession], meta: Mapping[str, str], administration: Administration, store: Store
) -> None:
    """Tell of arms that were renamed and whose event was not stored yet."""
    for name, session in sessions.items():
        if old := meta.get(RENAMED + name):
            administration.tell_change(session, AdminEvent.ARM_RENAMED, SETTINGS, old, name)
            store.batch.set_meta(RENAMED + name, "")


def drop_taken(sessions: Mapping[str, ArmSession], loaded: Loaded) -> None:
    """Keep only the rows of arms that have no session: they may come with other settings, all others were taken over.

    At 10,000 arms that is half of the memory after a start.
    """
    loaded.arms[:] = [row for row in loaded.arms if row.arm not in sessions]
    loaded.firsts[:] = [row for row in loaded.firsts if row.arm not in sessions]
    loaded.grounds[:] = [row for row in loaded.grounds if row.arm not in sessions]
    loaded.overrides[:] = [row for row in loaded.overrides if row.arm not in sessions]
    loaded.open_changes[:] = [row for row in loaded.open_changes if row.arm not in sessions]
    open_changes = {change.n for change in loaded.open_changes}
    loaded.open_requests[:] = [row for row in loaded.open_requests if row.n in open_changes]
