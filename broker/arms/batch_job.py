"""Changes of several slots in the queue of an arm, and what the store keeps of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from broker.arms.jobs import ChangeJob, common_of
from broker.life import State
from broker.store.rows import Terms
from handlers.batch.order import step_direction
from handlers.batch.outcomes import FAILURES, WHOLE_KEY
from handlers.items.direction import Direction
from handlers.rpc.outcome import BatchProposal, Restoration
from handlers.rpc.request import Request
from handlers.state.provenance import Stamp
from schema.arms import Slot, Verb
from schema.codecs.json_codec import pack, unpack
from schema.enums import ControlConfigurationEvent
from schema.errors import BrokerError
from schema.items import ITEMS, ConfigItem, Order, Zero, slot_path
from schema.messages import Empty, Message

WHOLE_SLOT: Slot = (WHOLE_KEY, 0)
WHOLE = ConfigItem(
    WHOLE_KEY, "Factory", Empty, "", ControlConfigurationEvent.CONTROL_CONFIGURATION_FACTORY_RESTORED,
    Order.UNORDERED, Zero.VALUE,
)  # fmt: skip
"""Stands for the items of an arm."""
_OLD = b"{"
"""What rows of a RestoreFactory began with that held outcomes by path alone."""


class StepRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the store keeps of a step: `wanted` and `ground` as bytes of `blobs.pack`.

    `undoes` an earlier step of its slot; `named` are the parts that it asks for itself, None: the whole.
    """

    slot: Slot
    verb: str
    wanted: bytes | None = None
    outcome: str = ""
    undoes: bool = False
    cmd_seq: int = 0
    unchanged: bool = False
    named: Sequence[str] | None = None
    ground: bytes | None = None

    @property
    def value(self) -> Message | None:
        """What is wanted."""
        return None if self.wanted is None else unpack(self.wanted, ITEMS[self.slot[0]].record)


class BatchRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the store keeps of a batch beside its change: a new field is appended."""

    steps: tuple[StepRecord, ...] = ()
    reverse: bool = False
    left_out: dict[str, dict[str, str]] = {}
    over: bool = False

    def outcomes(self) -> dict[str, str]:
        """What became of its slots, by path."""
        return {slot_path(step.slot): step.outcome for step in self.steps if not step.undoes}

    def grounds(self) -> dict[Slot, Message]:
        """What is there without overrides of its slots, where these hold parts of them."""
        told = [(step.slot, step.ground) for step in self.steps if not step.undoes]
        return {slot: unpack(ground, ITEMS[slot[0]].record) for slot, ground in told if ground is not None}

    def values(self) -> dict[Slot, Message]:
        """What is wanted of its slots, as far as that is known."""
        return {step.slot: value for step in self.steps if not step.undoes and (value := step.value) is not None}


_encode = msgspec.msgpack.Encoder().encode
_decode_batch = msgspec.msgpack.Decoder(BatchRecord).decode
_decode_values = msgspec.msgpack.Decoder(list[tuple[Slot, bytes]]).decode


def unpack_batch(blob: bytes | None) -> BatchRecord:
    """What the row of a batch says of it."""
    return BatchRecord() if blob is None else _decode_batch(blob)


def old_outcomes(blob: bytes | None) -> dict[str, str] | None:
    """The outcomes by path in the row of an older RestoreFactory; None in all others."""
    return msgspec.json.decode(blob, type=dict[str, str]) if blob is not None and blob.startswith(_OLD) else None


def pack_values(values: Mapping[Slot, Message]) -> bytes:
    """Values by slot as bytes of the store."""
    return _encode([(slot, pack(value)) for slot, value in values.items()])


def unpack_values(blob: bytes | None) -> dict[Slot, Message]:
    """The values in bytes of `pack_values`."""
    return {} if blob is None else {slot: unpack(value, ITEMS[slot[0]].record) for slot, value in _decode_values(blob)}


@dataclass(slots=True, eq=False)
class StepJob(ChangeJob):
    """One slot of a batch: a change without a request, carried out in its turn."""

    error: BrokerError | None = None
    """Why it failed, where somebody said so."""
    read: Message | None = None
    """What was read back, if it took effect."""
    undoes: "StepJob | None" = None
    """The step whose slot it writes back."""

    @property
    def stamp(self) -> Stamp:
        """Who sets what it asks for; what it writes back is no value of a recipe."""
        author = self.author
        recipe = "" if self.terms is None or self.undoes is not None else self.terms.recipe
        return Stamp(f"{author.user}/{author.connection}", self.at_us, recipe)

    @property
    def direction(self) -> Direction:
        """Which way it goes."""
        return step_direction(self.item, loosening=self.loosening, unchanged=self.unchanged)


@dataclass(slots=True, eq=False)
class BatchJob(ChangeJob):
    """One accepted change of several slots: a step each, in the order in which they are written; one end of them all.

    RestoreFactory is one whose steps may be Resets, and go on beside one that fails; what they want is known in their
    turn.
    """

    steps: list[StepJob] = field(default_factory=list)
    step: StepJob | None = None
    """The one under way."""
    reverse: bool = False
    """Whether what took effect is written back where a slot fails."""
    error: BrokerError | None = None
    """Why what was left of it was given up, and the cause of its event then."""
    cause: str = ""
    left_out: dict[str, dict[str, str]] = field(default_factory=dict)
    """What of the request was refused and left out, by path."""
    failed: bool = False
    """Whether a slot did not become what was asked for, and nobody else had taken its place."""
    over: bool = False
    """Of an override: whether its end came before that of its change; what still takes effect is led back at once."""

    @property
    def factory(self) -> bool:
        """Whether it is a RestoreFactory."""
        return self.verb is Verb.RESET

    @property
    def open(self) -> list[StepJob]:
        """The steps without an outcome."""
        return [step for step in self.steps if not step.outcome]

    @property
    def parts(self) -> Sequence[ChangeJob]:
        """What is open of it, slot by slot."""
        return self.open

    @property
    def outcomes(self) -> dict[Slot, str]:
        """What became of its slots."""
        return {step.slot: step.outcome for step in self.steps if step.undoes is None}

    @property
    def places(self) -> tuple[Slot, ...]:
        """The slots that it may still change."""
        return tuple([step.slot for step in self.steps if not step.outcome])

    @property
    def current(self) -> ChangeJob:
        """The step that may be with the arm."""
        return self if self.step is None else self.step

    @property
    def record(self) -> bytes | None:
        """What the store keeps of it: what its steps want, and what became of them."""
        steps = [
            (
                step.slot, step.verb, None if step.wanted is None else pack(step.wanted), step.outcome,
                step.undoes is not None, step.cmd_seq, step.unchanged,
            ) if step.named is None and step.ground is None else _of_parts(step)
            for step in self.steps
        ]  # fmt: skip
        return _encode((steps, self.reverse, self.left_out, self.over))

    def of_slot(self, slot: Slot) -> ChangeJob | None:
        """The open step of a slot."""
        return next((step for step in self.steps if not step.outcome and step.slot == slot), None)


def _of_parts(step: StepJob) -> StepRecord:
    """What the store keeps of a step of an item with parts."""
    wanted, ground = (None if value is None else pack(value) for value in (step.wanted, step.ground))
    named = None if step.named is None else sorted(step.named)
    return StepRecord(
        step.slot, step.verb, wanted, step.outcome, step.undoes is not None, step.cmd_seq, step.unchanged, named, ground
    )


def new_step(job: BatchJob, slot: Slot, verb: Verb, wanted: Message | None, **more: Any) -> StepJob:
    """One more step of a batch, at its end."""
    step = StepJob(
        n=0, request_n=0, rev=job.rev, slot=slot, item=ITEMS[slot[0]], verb=verb, wanted=wanted,
        author=job.author, request_id=job.request_id, method=job.method, reason=job.reason, at_us=job.at_us,
        terms=job.terms, back=job.back,
        **({"loosening": True, "unchanged": False} | more),
    )  # fmt: skip
    job.steps.append(step)
    return step


def fill(job: BatchJob, before: bytes | None, record: bytes | None, factory: Sequence[Slot]) -> BatchJob:
    """A batch of which a start found this; an older RestoreFactory is of the slots `factory`.

    Raises:
        msgspec.MsgspecError, KeyError: the record is of another version.
    """
    if job.factory and (record is None or (told := old_outcomes(record)) is not None):
        told = {} if record is None else old_outcomes(record) or {}
        for slot in factory:
            _settle(new_step(job, slot, Verb.RESET, None), told.get(slot_path(slot), ""))
        return job
    kept, there = unpack_batch(record), unpack_values(before)
    job.reverse, job.left_out, job.over = kept.reverse, kept.left_out, kept.over
    for one in kept.steps:
        step = new_step(job, one.slot, Verb(one.verb), one.value)
        _settle(step, one.outcome)
        step.unchanged, step.epoch, step.cmd_seq = one.unchanged, job.epoch, one.cmd_seq
        step.before, step.read = there.get(one.slot), step.wanted
        job.failed = job.failed or one.outcome in FAILURES
        step.named = None if one.named is None else frozenset(one.named)
        step.ground = None if one.ground is None else unpack(one.ground, ITEMS[one.slot[0]].record)
        if one.unchanged:
            step.rev = 0
        if one.undoes:
            step.undoes = next(other for other in job.steps if other.slot == one.slot)
    return job


def _settle(step: StepJob, outcome: str) -> None:
    """Give a step the end that it had in an earlier run."""
    if outcome:
        step.outcome, step.state = outcome, State.SETTLED


def proposed(outcome: BatchProposal, common: dict[str, Any]) -> BatchJob:
    """A decided change of several slots; `common` is what it has of whoever asked for it."""
    if outcome.recipe is not None:
        terms = msgspec.structs.replace(common["terms"] or Terms(), recipe=outcome.recipe.label)
        common = {**common, "terms": terms}
    ends = common["terms"] is not None and common["terms"].until_us > 0
    job = BatchJob(
        slot=WHOLE_SLOT, item=WHOLE, verb=Verb.SET, wanted=None, loosening=outcome.loosening,
        unchanged=outcome.unchanged and not ends, reverse=outcome.reverse, left_out=outcome.left_out,
        warnings=outcome.warnings, **common,
    )  # fmt: skip
    for one in outcome.steps:
        unchanged = one.unchanged and not ends
        new_step(job, one.slot, one.verb, one.value, loosening=one.loosening, unchanged=unchanged, named=one.named)
    return job


def batch_of(
    request: Request, outcome: BatchProposal | Restoration, *, n: int, request_n: int, expires: float
) -> BatchJob:
    """The change of several slots that a request asks for, as it was decided."""
    common = common_of(request, n=n, request_n=request_n, expires=expires)
    if isinstance(outcome, BatchProposal):
        return proposed(outcome, common)
    job = BatchJob(
        slot=WHOLE_SLOT, item=WHOLE, verb=Verb.RESET, wanted=None, loosening=True, unchanged=False,
        **common,
    )  # fmt: skip
    for slot in outcome.slots:
        new_step(job, slot, Verb.RESET, None)
    return job
