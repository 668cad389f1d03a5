"""What is done with each job in the queue of an arm, and by whom."""

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.presence.presence import Presence
from broker.settle.contact.reconciler import Reconciler
from broker.settle.settler import Settler


class ArmWorker:
    """Settles changes while it is sure that no other service does; other jobs are the reconciler's. See `Worker`."""

    def __init__(self, presence: Presence, settler: Settler, reconciler: Reconciler) -> None:
        self._presence, self._settler = presence, settler
        self.contact, self.follow, self.forward = reconciler.contact, reconciler.follow, reconciler.forward

    def settle_now(self, session: ArmSession, job: ChangeJob) -> bool:
        """See `Worker`."""
        return self._presence.sure and self._settler.settle_now(session, job)

    async def settle(self, session: ArmSession, job: ChangeJob) -> None:
        """See `Worker`."""
        if not self._presence.sure:
            await self._presence.made_sure()
        await self._settler.settle(session, job)
