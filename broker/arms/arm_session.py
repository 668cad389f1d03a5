"""One arm of the fleet: its state, its counters and its queue."""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from broker.arms.jobs import ChangeJob, Job
from broker.arms.stream import encode_heads
from broker.blobs import pack_setters
from broker.life import QUEUED, SENT, Origin, State
from broker.store.rows import ArmRow, ItemRow
from devices.adapter import Snapshot
from devices.guard import GuardedArm
from handlers.state.arm_state import ArmState
from handlers.state.provenance import NOBODY, PARTED, Setter, set_by
from handlers.state.recipes import key_of
from schema.arms import Activity, Authority, Description
from schema.codecs.items_form import ToldItems
from schema.codecs.json_codec import pack
from schema.envelope import Author
from schema.messages import Message

_CONTROL, _NEW, _WRITING = Authority.CONTROL, Origin.NEW, State.WRITING


class Found(NamedTuple):
    """What an arm told that is not the one that is known."""

    description: Description
    snapshot: Snapshot


@dataclass(slots=True, eq=False)
class ArmSession:
    """The mutable side of one arm; a task exists only while its queue has work."""

    state: ArmState
    adapter: GuardedArm
    model: str = ""
    """The model that the settings name."""
    file_authority: Authority = Authority.CONTROL
    """The authority that the settings name, or their default."""
    told_ready: bool = True
    """Whether the arm takes changes, as it told last since it was connected."""
    told_activity: Activity = Activity.UNKNOWN
    """What it does, as it told last since it was connected."""
    back: asyncio.Event | None = None
    """Set when the link to the arm comes up: what waits for the next try need wait no longer; None: nothing waits."""
    met: bool = False
    """Whether the arm answered since this start, or is known to be away."""
    mode_by: Author | None = None
    """Who changed the control mode last, as far as this run knows."""
    serial: str = ""
    description: bytes = b""
    cmd_seq: int = 0
    published_seq: int = 0
    given_seq: int = 0
    """The last event that was given to be published."""
    reverts: int = 0
    since_us: int = 0
    """When the presence changed last."""
    failures: int = 0
    """Attempts to reach the arm since it last answered."""
    told: tuple[str, ...] = ()
    """What does not fit between the sources of its limits, as far as it was logged."""
    told_items: dict[str, ToldItems] = field(default_factory=dict)
    """The items of its documents as they were told last, by the document; of arms that were told of lately."""
    heads: dict[str, int] = field(default_factory=dict)
    """Last seq of each event topic."""
    jobs: list[Job] = field(default_factory=list)
    """The first is the one that runs, if any does; a list, for most arms have none."""
    parked: list[ChangeJob] = field(default_factory=list)
    """Pending changes outside the queue, oldest first."""
    damage: str = ""
    """Why nothing that the store says of it counts; empty when it does."""
    found: Found | None = None
    """The arm that answers in the place of the one that is known."""
    fence: tuple[int, int] = (0, 0)
    """The highest (epoch, cmd_seq) that the arm knew at the last contact."""
    sent: tuple[int, int] = (0, 0)
    """The newest epoch and the highest command number that this store may have given it; both only grow."""
    foreign_fence: tuple[int, int] = (0, 0)
    """The highest (epoch, cmd_seq) of others that is known; they were accepted, unless `fence_held`."""
    fence_held: bool = False
    compared: bool = False
    """Whether its fence was compared with what this store knows since the start."""
    restored_rev: int = 0
    """What is desired since this revision or before comes from a store that was restored: it is never reapplied."""
    running: bool = False
    resting: bool = False
    """Whether the queue stands although there may be work: the settings of the arm change."""
    with_arm: bool = False
    """Whether the arm is waited for, and not the service."""
    busy_with: ChangeJob | None = None
    """The change whose command may be with the arm."""
    arm: str = field(init=False)
    """The arm's id."""

    def __post_init__(self) -> None:
        self.arm = self.state.arm

    def row(self) -> ArmRow:
        """The arm's row as it stands."""
        state = self.state
        return ArmRow(
            arm=state.arm,
            rev=state.rev,
            seq=state.seq,
            cmd_seq=self.cmd_seq,
            published_seq=self.published_seq,
            adopted=state.adopted,
            serial=self.serial,
            description=self.description,
            read_at_us=state.read_at_us,
            mode_seen_at_us=state.mode_seen_at_us,
            heads=encode_heads(self.heads),
        )

    def item_row(self, key: tuple[str, str, int]) -> ItemRow:
        """The row of one slot as it stands."""
        state, (arm, item, mode) = self.state, key
        slot = (item, mode)
        return ItemRow(
            arm=arm,
            key=item,
            mode=mode,
            desired=pack(state.desired[slot]),
            desired_rev=state.desired_rev.get(slot, 0),
            last_rev=state.last_rev.get(slot, 0),
            reported=pack(state.reported[slot]),
            set_by=pack_setters((state.desired_by.get(slot, NOBODY), state.reported_by.get(slot, NOBODY))),
        )

    def setter_of(self, job: ChangeJob, value: Message) -> Setter:
        """Who sets each number of a value that a change puts in the place of what is desired."""
        if type(value) not in PARTED:
            return Setter(job.stamp)
        state = self.state
        return set_by(job.stamp, value, state.desired.get(job.slot), state.desired_by.get(job.slot, NOBODY))

    def desire_step(self, step: ChangeJob) -> None:
        """What a slot of a batch is to have is desired, unless a later wish is; where it is not known its origin is."""
        state, slot, rev = self.state, step.slot, step.rev
        state.last_rev[slot] = max(state.last_rev.get(slot, 0), rev)
        if step.wanted is not None:
            step.setter = self.setter_of(step, step.wanted)
        if state.desired_rev.get(slot, 0) > rev:
            return
        state.desired_rev[slot] = rev
        if step.wanted is not None:
            state.desired[slot], state.desired_by[slot] = step.wanted, step.setter

    def count_in(self, job: ChangeJob) -> None:
        """A change is accepted: it is pending, and what it asks for counts beside what is there until it is read."""
        state, of_user, user = self.state, self.state.unsettled_of, job.author.user
        state.unsettled += 1
        of_user[user] = of_user[user] + 1 if user in of_user else 1
        if type(job) is ChangeJob:
            self.part_in(job)
            return
        if job.terms is not None and job.terms.recipe:
            state.recipes.await_end(key_of(job.terms.recipe))
        for part in job.parts:
            self.part_in(part)

    def part_in(self, job: ChangeJob) -> None:
        """A change, or a slot of a batch, is pending."""
        state, slot = self.state, job.slot
        counts, unread = state.open, state.unread
        counts[slot] = counts[slot] + 1 if slot in counts else 1
        if job.rev:
            state.open_rev[slot] = job.rev
        if job.wanted is not None and not job.unchanged:
            job.unread = (job.wanted, job.setter)
            unread[slot] = (*unread[slot], job.unread) if slot in unread else (job.unread,)

    def await_reading(self, job: ChangeJob, wanted: Message) -> None:
        """What a change asks for after all counts beside what was read, until it has its end."""
        job.unread = (wanted, job.setter)
        self.state.unread[job.slot] = (*self.state.unread.get(job.slot, ()), job.unread)

    def count_out(self, job: ChangeJob) -> None:
        """A change has its end."""
        state, of_user, user = self.state, self.state.unsettled_of, job.author.user
        state.unsettled -= 1
        if user in of_user:
            of_user[user] -= 1
            if of_user[user] <= 0:
                del of_user[user]
        if type(job) is not ChangeJob and job.terms is not None and job.terms.recipe:
            state.recipes.ended(key_of(job.terms.recipe))
        for part in (job,) if type(job) is ChangeJob else job.parts:
            self.part_over(part)

    def part_over(self, job: ChangeJob) -> None:
        """A change, or a slot of a batch, is no longer pending."""
        state, slot = self.state, job.slot
        counts, mine = state.open, job.unread
        if slot in counts and counts[slot] > 1:
            counts[slot] -= 1
        elif slot in counts:
            del counts[slot]
            state.open_rev.pop(slot, None)
        if mine is None or slot not in state.unread:
            return
        unread = state.unread[slot]
        if others := unread[1:] if unread[0] is mine else tuple([one for one in unread if one is not mine]):
            state.unread[slot] = others
        else:
            del state.unread[slot]

    def waiting(self) -> list[Job]:
        """The jobs that have not begun, oldest first."""
        return list(self.jobs)[1 if self.running else 0 :]

    def unsettled(self) -> list[ChangeJob]:
        """The changes that have no end yet, oldest first."""
        queued = [job for job in self.jobs if isinstance(job, ChangeJob) and job.state in QUEUED]
        return sorted([*self.parked, *queued], key=lambda job: job.n) if self.parked else queued

    def take_out(self, job: ChangeJob) -> None:
        """A change that ended waits no longer, in the queue or outside of it; one under way leaves by itself."""
        if job in self.parked:
            self.parked.remove(job)
            self.state.parked.pop(job.rev, None)
        elif not (self.running and self.jobs[0] is job):
            self.jobs.remove(job)

    def has_begun(self, job: ChangeJob) -> bool:
        """Whether the command of a change that was given up may have been sent."""
        return job.state in SENT and job.current.state in SENT and not job.unchanged

    def may_be_with_arm(self, job: ChangeJob) -> bool:
        """Whether the command of a change was sent, is being sent, or may have been sent by an earlier run."""
        return self.busy_with is job or job.state is State.RESUMED or job.state is State.UNKNOWN

    def numbers_ahead(self) -> bool:
        """Whether a new change may have its command number at once: all before it have one, and the arm is prompt."""
        if not self.jobs:
            return True
        last = self.jobs[-1]
        return type(last) is ChangeJob and last.state is _WRITING and self.adapter.prompt


def is_clear(session: ArmSession, job: ChangeJob) -> bool:
    """Whether nothing at all stands in the way of a new change to its arm; false: `Obstacles` tells what does."""
    state = session.state
    at_leave = state.authority is _CONTROL and state.hold is None and state.overrides is None
    there = state.online and state.ready and not state.distrust
    plain = job.terms is None and not job.expires and not job.back
    return at_leave and there and plain and job.origin is _NEW and job.reverts == session.reverts
