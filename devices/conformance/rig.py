"""What the suite asks of an adapter's test bench."""

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from devices.adapter import ArmAdapter, ArmChange, LinkState, Notice
from schema.arms import Activity, Fault, Slot
from schema.messages import Message


class FailedError(Exception):
    """The adapter does not do what it must; the text says what it did instead."""


class CannotInjectError(Exception):
    """The rig cannot bring this about; the text is the reason why the behaviour is not applicable."""


class Example(NamedTuple):
    """Two values that the arm takes for a slot; neither is what it holds at first.

    `other` is not at or tighter than `value`. `event` is the number in the `ArmChange` of the slot, None for any.
    """

    value: Message
    other: Message
    event: int | None = None


class Refusal(NamedTuple):
    """A value that the arm itself refuses, with what Kinova sub code; None for any."""

    slot: Slot
    value: Message
    sub_code: int | None = None


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What the arm of a rig is like; times in seconds of the event loop."""

    values: Mapping[Slot, Example]
    """A pair of values for every slot that can be set, but the control mode. The first is the one most tests use."""
    refused: Mapping[str, Refusal] = {}
    """Values that the arm refuses, by a name for people."""
    resettable: frozenset[str] = frozenset()
    """Keys of the items that can be reset."""
    rounded: tuple[Slot, Message] | None = None
    """A value that the arm keeps rounded, within its resolution."""
    clamped: tuple[Slot, Message] | None = None
    """A value that the arm takes half of while it is told to clamp; half of it is not what the arm holds at first."""
    activities: frozenset[Activity] = frozenset()
    """What the adapter says that it can tell of what the arm does; `AdapterRig` fills it in."""
    cannot: Mapping[str, str] = {}
    """Why it cannot have a behaviour: by what the behaviour needs (`Behaviour.needs`), or by the behaviour's name."""
    told_within_s: float = 2.0
    """How long the arm or its adapter may take to tell of a change or of a lost link: events at once, polled later."""
    back_within_s: float = 40.0
    """How long the arm may take to answer again when a fault has ended."""
    slack_s: float = 1.0
    """How much later than its deadlines a call may end."""

    @property
    def slot(self) -> Slot:
        """The slot that most behaviours use."""
        return next(iter(self.values))

    @property
    def example(self) -> Example:
        """The values of `slot`."""
        return self.values[self.slot]


class Heard:
    """What an arm told, in order; give it to `ArmAdapter.watch`."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self._news = asyncio.Event()

    def __call__(self, notice: Notice) -> None:
        """Hear a notice."""
        self.notices.append(notice)
        self._news.set()

    @property
    def changes(self) -> list[ArmChange]:
        """The changes told so far."""
        return [notice for notice in self.notices if isinstance(notice, ArmChange)]

    @property
    def foreign(self) -> list[ArmChange]:
        """The changes told so far as not ours."""
        return [change for change in self.changes if not change.ours]

    @property
    def links(self) -> list[LinkState]:
        """The states of the link told so far."""
        return [notice for notice in self.notices if isinstance(notice, LinkState)]

    async def until(self, wanted: Callable[["Heard"], bool], within_s: float, what: str) -> None:
        """Wait until what was told is as wanted.

        Raises:
            FailedError: it is not within so many seconds.
        """
        try:
            async with asyncio.timeout(within_s):
                while not wanted(self):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            told = ", ".join(map(str, self.notices[-5:])) or "nothing"
            raise FailedError(f"not within {within_s:g} s: {what}; told: {told}") from None


class Rig(Protocol):
    """One arm of its own for one run of one behaviour, freshly made: factory values, no command yet."""

    traits: Traits
    heard: Heard
    """What the arm told; it watches `arm`."""

    @property
    def arm(self) -> ArmAdapter:
        """The arm's adapter, another object after `reopen`; nobody else calls it meanwhile."""
        ...

    async def inject(self, fault: Fault) -> None:
        """Let the arm, its driver or another writer misbehave as protocol section 7 says; `none` ends all faults.

        Raises:
            CannotInjectError: it cannot.
        """
        ...

    async def reopen(self) -> None:
        """Close the adapter and all it shares, as the end of the service does, and make it anew for the same arm.

        What it keeps on disk stays. `heard` watches the new one; it is not connected yet.
        """
        ...

    async def close(self) -> None:
        """End everything that was started; called once, also after a failure."""
        ...
