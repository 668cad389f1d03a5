"""A plan at work: what this run keeps of it beside what is stored."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from broker.arms.jobs import Address, ChangeJob
from broker.timers import Timer
from handlers.plans.plan import Plan
from handlers.plans.rows import Row
from handlers.rpc.row import Rpc
from handlers.rpc_table import MAY_TIGHTEN
from schema.arms import Slot
from schema.envelope import Reply, RequestEnvelope, Wait, Warned
from schema.errors import BrokerError
from schema.messages import Message


@dataclass(slots=True, eq=False)
class Asker:
    """Who gets the first reply of a plan."""

    address: Address
    wait: Wait = Wait.APPLIED
    warnings: tuple[Warned, ...] = ()


@dataclass(slots=True, eq=False)
class Live:
    """One plan that is not settled; `params` and `envelope` are those of its rows."""

    plan: Plan
    rpc: Rpc
    params: Message | dict[str, Any]
    envelope: RequestEnvelope
    asker: Asker | None = None
    """None: whoever asked has the reply, or waits no longer."""
    ahead: deque[str] = field(default_factory=deque)
    """Arms whose rows are looked at, begin or are taken back next."""
    looked: dict[str, Row] = field(default_factory=dict)
    """What would come of each row, as the check found it."""
    tightens: dict[str, bool] = field(default_factory=dict)
    """Whether each row tightens, as the check found it."""
    full_since: dict[str, float] = field(default_factory=dict)
    """Since when rows wait for room in the queue of their arm."""
    put_off: deque[tuple[float, str]] = field(default_factory=deque)
    """When such rows are looked at again."""
    slots: dict[str, tuple[Slot, ...]] = field(default_factory=dict)
    """What the change of each row changes."""
    began: dict[str, float] = field(default_factory=dict)
    """When rows were seen under way first."""
    late: set[str] = field(default_factory=set)
    """Arms whose rows have no end in time."""
    offline_since: dict[str, float] = field(default_factory=dict)
    soaked_at: float | None = None
    """When the present wave was watched for long enough."""
    error: BrokerError | None = None
    """Why the whole is refused, where no row is."""
    undoing: set[str] = field(default_factory=set)
    """Arms whose rows are being taken back, or were."""
    timers: list[Timer] = field(default_factory=list)
    rule: str = ""
    """The rule that asks for a second person, as the check found it."""
    said: Reply | None = None
    """What the change of its one arm would be answered, of a plan for one arm."""
    turns: dict[str, ChangeJob] = field(default_factory=dict)
    """The changes of rows that were accepted all at once and begin later, by arm, in their order."""
    recovered: bool = False
    """Found by this start."""
    only_tighter: bool = False
    """It is so old that only rows that tighten still begin."""

    @property
    def dry(self) -> bool:
        """Whether it is only checked, and not kept."""
        return self.plan.n == 0

    @property
    def urgent(self) -> bool:
        """Whether its next row tightens, as far as is known."""
        may = self.rpc.name in MAY_TIGHTEN
        return bool(self.ahead) and self.tightens.get(self.ahead[0], may)
