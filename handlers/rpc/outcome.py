"""What a decision yields: an answer, a change, or an order to the shell."""

from typing import Any

import msgspec

from handlers.rpc.fleet_queries import FindQuery, FleetHistoryQuery
from handlers.rpc.source import RevisionSource, Source, ViewSource
from handlers.state.recipes import Recipe
from schema.arms import Authority, Fault, Slot, Verb
from schema.envelope import Stage, Warned
from schema.messages import Message


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The result is known at once; nothing changes."""

    result: Message | dict[str, Any]
    stage: Stage = Stage.READ
    warnings: tuple[Warned, ...] = ()
    reported_at_us: int = 0
    desired: Message | None = None
    pending_rev: int = 0
    mode_seen_at_us: int = 0
    until_us: int = 0
    """When what is answered is over: it comes from an override."""


class Proposal(msgspec.Struct, frozen=True, gc=False):
    """An accepted change of one slot.

    `value` is None for a Reset. `unchanged`: equal to desired and reported, so it is read back and not written.
    `named`: the parts of the value that the request names, None where it names the whole.
    """

    slot: Slot
    verb: Verb
    value: Message | None
    loosening: bool
    unchanged: bool = False
    warnings: tuple[Warned, ...] = ()
    named: frozenset[str] | None = None

    @property
    def tightens(self) -> bool:
        """Whether no component gets looser, and not all stay as they are."""
        return not self.loosening and not self.unchanged


class BatchProposal(msgspec.Struct, frozen=True, gc=False):
    """An accepted change of several slots, in the order in which they are written.

    `reverse`: what took effect is written back where a slot fails. `left_out`: what was refused, kind and message by
    path.
    """

    steps: tuple[Proposal, ...]
    reverse: bool = False
    left_out: dict[str, dict[str, str]] = {}
    warnings: tuple[Warned, ...] = ()
    recipe: Recipe | None = None
    """The recipe whose values they are."""

    @property
    def unchanged(self) -> bool:
        """Whether all of it is there already."""
        return all(step.unchanged for step in self.steps)

    @property
    def loosening(self) -> bool:
        """Whether some slot gets looser in a component, or has no order."""
        return any(step.loosening and not step.unchanged for step in self.steps)

    @property
    def tightens(self) -> bool:
        """Whether no slot gets looser, and not all stay as they are."""
        return not self.loosening and not self.unchanged


class BatchQuery(msgspec.Struct, frozen=True, gc=False):
    """A change of some slots to values that the shell looks up; it is decided when they are known."""

    source: RevisionSource
    slots: tuple[Slot, ...]
    partial: bool = False
    reverse: bool = False


class OpenHandle(msgspec.Struct, frozen=True, gc=False):
    """Open a notification handle of a topic, `config` or `mode`."""

    topic: str


class CloseHandle(msgspec.Struct, frozen=True, gc=False):
    """Close a notification handle."""

    identifier: int


class HistoryQuery(msgspec.Struct, frozen=True, gc=False):
    """Read changes of the arm, newest first; bounds exclusive, 0 = none; `item` empty = all."""

    after_rev: int
    before_rev: int
    item: str
    limit: int


class EventsQuery(msgspec.Struct, frozen=True, gc=False):
    """Read events of the arm after a seq, oldest first."""

    after_seq: int
    limit: int


class DiffQuery(msgspec.Struct, frozen=True, gc=False):
    """Compare the values of two sources; `slots` None: all.

    Of a group: arm by arm; those with an id above `after` are told, `limit` at most.
    """

    base: Source
    target: Source
    slots: frozenset[Slot] | None
    after: str = ""
    limit: int = 0


class BlameQuery(msgspec.Struct, frozen=True, gc=False):
    """Tell who set the values in force; `slots` None: all."""

    slots: frozenset[Slot] | None


class FaultOrder(msgspec.Struct, frozen=True, gc=False):
    """Tell the simulated arm to misbehave."""

    fault: Fault


class ConfirmOrder(msgspec.Struct, frozen=True, gc=False):
    """Let the held change of a revision go out after all; 0 = all of them."""

    rev: int


class DiscardOrder(msgspec.Struct, frozen=True, gc=False):
    """End the pending change of a revision, 0 = all of them."""

    rev: int


class ArmOrder(msgspec.Struct, frozen=True, gc=False):
    """Take the arm that answers for the one that was known."""


class Restoration(msgspec.Struct, frozen=True, gc=False):
    """An accepted return of several slots to what the arm came with, in this order."""

    slots: tuple[Slot, ...]


class ExtendOrder(msgspec.Struct, frozen=True, gc=False):
    """Give the overrides of these revisions another end, µs since 1970."""

    revs: tuple[int, ...]
    until_us: int


class EndOrder(msgspec.Struct, frozen=True, gc=False):
    """End the overrides of these revisions, or let what they gave be the ground; others are `left`."""

    revs: tuple[int, ...]
    keep: bool = False
    left: tuple[int, ...] = ()


class AuthorityOrder(msgspec.Struct, frozen=True, gc=False):
    """Change how far the service may go with the arm."""

    authority: Authority
    reason: str


class HoldOrder(msgspec.Struct, frozen=True, gc=False):
    """Lock the arm for the sender, or give the sender's lock another reason and end (µs since 1970, 0 = none)."""

    reason: str
    until_us: int


class ReleaseOrder(msgspec.Struct, frozen=True, gc=False):
    """End the lock on the arm."""


class RecipePut(msgspec.Struct, frozen=True, gc=False):
    """Keep a new version of a recipe; `unchanged`: it is the present one, and stays."""

    recipe: Recipe
    unchanged: bool = False


class RecipeDraft(msgspec.Struct, frozen=True, gc=False):
    """A new version of a recipe whose values are those of an arm, which have to be looked up."""

    source: ViewSource | RevisionSource


class RecipeDeletion(msgspec.Struct, frozen=True, gc=False):
    """Take a recipe off the list, whose present version this is."""

    recipe: Recipe


RecipeOrder = RecipePut | RecipeDeletion
"""Orders about the recipes of the service."""


class PlanQuery(msgspec.Struct, frozen=True, gc=False):
    """Read a plan with rows in a state ("" = any) after an arm, in the order of these; or the row of one arm."""

    plan: int
    arm: str
    state: str
    after: str
    limit: int


class PlansQuery(msgspec.Struct, frozen=True, gc=False):
    """Read plans with numbers below one, newest first; empty texts stand for any."""

    state: str
    kind: str
    user: str
    before: int
    limit: int


class SteerOrder(msgspec.Struct, frozen=True, gc=False):
    """Do something with a plan; a `digest` has to be its own."""

    plan: int
    action: str
    reason: str
    digest: str


class RolloutOrder(msgspec.Struct, frozen=True, gc=False):
    """Do a method with the arms of a group, wave after wave, as `params` say."""

    method: str
    inner: dict[str, Any]
    params: dict[str, Any]


PlanOrder = PlanQuery | PlansQuery | SteerOrder
"""Orders about plans, not about an arm."""
AccessOrder = AuthorityOrder | HoldOrder | ReleaseOrder
"""Orders about who may change the arm."""
Outcome = (
    Answer
    | Proposal
    | BatchProposal
    | BatchQuery
    | OpenHandle
    | CloseHandle
    | HistoryQuery
    | EventsQuery
    | DiffQuery
    | BlameQuery
    | FindQuery
    | FleetHistoryQuery
    | FaultOrder
    | ConfirmOrder
    | DiscardOrder
    | ArmOrder
    | Restoration
    | ExtendOrder
    | EndOrder
    | AccessOrder
    | RecipeOrder
    | RecipeDraft
    | PlanOrder
    | RolloutOrder
)
Change = Proposal | BatchProposal | Restoration
"""Outcomes that change values."""
CHANGES = (Proposal, BatchProposal, Restoration)
