"""What was accepted last of each slot, while plans are live: they yield to what came after them."""

from collections.abc import Mapping
from types import MappingProxyType

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.settle.settler import Settler
from handlers.plans.yields import Later
from schema.arms import Slot

SERVICE = "@service"
"""The author of changes that nobody wished for: a plan does not yield to them."""
_NOTHING: Mapping[Slot, Later] = MappingProxyType({})


class Newest:
    """Hears of every accepted change from the first live plan to the last; costs nothing without one."""

    def __init__(self, settler: Settler) -> None:
        self._settler = settler
        self._places: dict[int, int] = {}
        """The places of the live plans by their numbers."""
        self._found: dict[str, dict[Slot, Later]] = {}

    def begin(self, plan_n: int, place: int) -> None:
        """A plan is live; its rows count as accepted at its place."""
        self._places[plan_n] = place
        self._settler.on_accepted = self.note

    def end(self, plan_n: int) -> None:
        """A plan is live no longer."""
        self._places.pop(plan_n, None)
        if not self._places:
            self._settler.on_accepted = None
            self._found.clear()

    @property
    def since(self) -> int | None:
        """The place of the oldest live plan; None: there is none."""
        return min(self._places.values(), default=None)

    def note(self, session: ArmSession, job: ChangeJob) -> None:
        """Remember that a change was accepted."""
        if job.author.user == SERVICE or job.unchanged:
            return
        plan_n = 0 if job.terms is None else job.terms.plan
        by = f"{job.author.user}/{job.author.connection}"
        self.put(session.arm, job.places, Later(self._places.get(plan_n, job.n), job.rev, by))

    def put(self, arm: str, slots: tuple[Slot, ...], later: Later) -> None:
        """A change of some slots was accepted at a place; an earlier one than is known counts no more."""
        of_arm = self._found.setdefault(arm, {})
        for slot in slots:
            known = of_arm.get(slot)
            if known is None or known.place <= later.place:
                of_arm[slot] = later

    def of(self, arm: str) -> Mapping[Slot, Later]:
        """The newest changes of an arm by slot."""
        return self._found.get(arm, _NOTHING)
