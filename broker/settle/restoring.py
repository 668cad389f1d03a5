"""RestoreFactory in the queue of an arm: slot after slot, each read back, then one end for all of them."""

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob, Phase, RestoreJob
from broker.record.ledger import Ledger
from broker.record.replies import Replies
from broker.settle.endings import Endings
from broker.settle.exchange import Exchange
from broker.store.rows import ChangeState
from devices.adapter import ArmAwayError, ArmRefusedError
from handlers.items.config_items import CHECKS, held_by_service
from handlers.items.settling import Ending, equal
from handlers.items.verbs import check_presence
from handlers.methods.factory import OUTCOMES, RESTORED, UNCHANGED, by_item, shortfall, step_of
from handlers.state.provenance import Setter, Stamp
from schema.arms import Slot, Verb
from schema.enums import ControlConfigurationEvent
from schema.envelope import Stage
from schema.errors import BrokerError
from schema.events import CHANGE_NOT_APPLIED
from schema.items import ITEMS
from schema.messages import Message

FACTORY_RESTORED = ControlConfigurationEvent.CONTROL_CONFIGURATION_FACTORY_RESTORED.name


class Restoring:
    """Carries out RestoreFactory; a slot that fails does not keep the others from being restored."""

    def __init__(self, ledger: Ledger, replies: Replies, endings: Endings, exchange: Exchange) -> None:
        self._ledger = ledger
        self._replies = replies
        self._endings = endings
        self._exchange = exchange

    async def carry_out(self, session: ArmSession, job: RestoreJob) -> None:
        """Restore every slot, and end the change; what an earlier run began is only read.

        Raises:
            EndedError: the change was ended meanwhile.
        """
        if not job.resumed:
            await self._mark_writing(session, job)
        number = job.cmd_seq
        for slot in job.targets:
            if slot in job.outcomes:  # known before the service restarted, or the arm was opened anew
                continue
            step = self._step(session, job, slot, number)
            if held_by_service(session.state, slot[0]):
                job.outcomes[slot] = self._in_force(session, step)
                continue
            job.step, number = step, number + 1
            job.outcomes[slot] = await (self._found(session, step) if job.resumed else self._restore(session, step))
            self._ledger.update_change(job, ChangeState.WRITING)
        job.step = None
        self._end(session, job)

    async def _mark_writing(self, session: ArmSession, job: RestoreJob) -> None:
        """One number for each command, committed before the first of them goes out."""
        self._ledger.mark_writing(session, job)
        session.cmd_seq += len(job.targets) - 1
        session.sent = (job.epoch, session.cmd_seq)
        self._ledger.update_change(job, ChangeState.WRITING)
        self._ledger.put_arm(session)
        await self._ledger.store.committed()

    def _step(self, session: ArmSession, job: RestoreJob, slot: Slot, number: int) -> ChangeJob:
        verb, value = step_of(session.state, ITEMS[slot[0]], slot)
        return ChangeJob(
            n=0, request_n=0, rev=job.rev, slot=slot, item=ITEMS[slot[0]], verb=verb, wanted=value, loosening=True,
            unchanged=False, author=job.author, request_id=job.request_id, method=job.method, reason=job.reason,
            phase=Phase.WRITING, epoch=job.epoch, cmd_seq=number, before=session.state.reported[slot], committed=True,
            setter=Setter(Stamp(f"{job.author.user}/{job.author.connection}", job.at_us)),
        )  # fmt: skip

    def _in_force(self, session: ArmSession, step: ChangeJob) -> str:
        """What the service holds needs no arm."""
        if step.wanted is None:
            raise TypeError(step.slot[0])
        return self._take(session, step, step.wanted, Ending.APPLIED)

    async def _restore(self, session: ArmSession, step: ChangeJob) -> str:
        """Reset one slot of the arm, or set it; what became of it."""
        state = session.state
        if step.wanted is not None and equal(
            step.slot[0], step.wanted, state.reported[step.slot], state.resolution_rad
        ):
            return UNCHANGED
        try:
            check_presence(state)
            if step.wanted is not None:
                CHECKS[step.item.key](state, step.wanted)
            returned = await self._exchange.write(session, step)
        except ArmRefusedError:
            return Ending.REFUSED.value
        except ArmAwayError:
            return "arm_away"
        except BrokerError as error:
            return error.kind if error.kind in OUTCOMES else Ending.REFUSED.value
        read, ending = await self._exchange.judge(session, step, returned if step.verb is Verb.RESET else step.wanted)
        return self._take(session, step, read, ending)

    async def _found(self, session: ArmSession, step: ChangeJob) -> str:
        """What an earlier run left in one slot: a new value is taken for ours, the old one perhaps was not sent."""
        read = await self._exchange.read_back(session, step)
        ending = self._exchange.ending(session, step, step.wanted, read)
        return "expired" if ending is Ending.REFUSED else self._take(session, step, read, ending)

    def _take(self, session: ArmSession, step: ChangeJob, read: Message, ending: Ending) -> str:
        """Keep what was read of one slot; what became of it."""
        state, slot = session.state, step.slot
        if not ending.took_effect:
            self._endings.read_after_all(session, slot, read)
            return ending.value
        unchanged = equal(slot[0], read, state.reported[slot], state.resolution_rad)
        self._endings.observe(session, slot, read)
        state.reported_by[slot] = step.setter
        if state.desired_rev.get(slot) == step.rev:
            state.desired[slot], state.desired_by[slot] = read, step.setter
        self._ledger.put_slot(session, slot)
        self._endings.changed(session, slot)
        return UNCHANGED if unchanged else ending.value

    def _end(self, session: ArmSession, job: RestoreJob) -> None:
        """One event, one reply; what could not be restored is told in both, and is desired as it was read."""
        error = shortfall(session.state, job.outcomes)
        restored = error is None or not RESTORED.isdisjoint({*job.outcomes.values()} - {UNCHANGED})
        self._endings.return_desired(session, job)
        event = self._ledger.emit(
            session,
            FACTORY_RESTORED if restored else CHANGE_NOT_APPLIED,
            cause="reset" if restored else "refused",
            stage=Stage.APPLIED.value if restored else Stage.REFUSED.value,
            by=job.author,
            rev=job.rev,
            request_id=job.request_id,
            trace=job.trace,
            reason=job.reason if error is None else error.message,
            of=job,
        )
        self._endings.settled(session, job, "applied" if error is None else "refused", event.seq)
        stage = Stage.APPLIED if error is None else Stage.REFUSED
        result = {"items": by_item(job.outcomes)}
        reply = self._replies.change_reply(
            session, job, ok=error is None, stage=stage, final=True, seq=event.seq, result=result, error=error
        )
        self._replies.deliver(session, job, reply, settled=True)
