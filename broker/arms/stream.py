"""What has events of its own, numbered without gap: an arm, or the whole fleet."""

from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from broker.store.rows import ArmRow
from handlers.state.arm_state import ArmState
from schema.arms import FLEET

encode_heads = msgspec.json.Encoder().encode


class Stream(Protocol):
    """The counters of one arm, or of the fleet; `state` holds the last seq."""

    arm: str
    state: ArmState
    heads: dict[str, int]
    published_seq: int
    given_seq: int

    def row(self) -> ArmRow:
        """The row as it stands."""
        ...


def _nobody() -> ArmState:
    return ArmState(arm=FLEET, adapter="", methods=frozenset(), resolution_rad=0.0)


@dataclass(slots=True, eq=False)
class FleetStream:
    """The events of the fleet: its row is that of an arm that nobody can reach, and its revision is 0."""

    state: ArmState = field(default_factory=_nobody)
    heads: dict[str, int] = field(default_factory=dict)
    published_seq: int = 0
    given_seq: int = 0
    arm: str = FLEET

    def row(self) -> ArmRow:
        """The row as it stands."""
        return ArmRow(
            arm=FLEET, rev=0, seq=self.state.seq, published_seq=self.published_seq, heads=encode_heads(self.heads)
        )


def fleet_stream(rows: list[ArmRow]) -> FleetStream:
    """The events of the fleet as they were stored; their row is taken out of those of the arms."""
    stream = FleetStream()
    for row in rows:
        if row.arm == FLEET:
            stream.state.seq, stream.published_seq = row.seq, row.published_seq
            stream.heads = msgspec.json.decode(row.heads, type=dict[str, int])
    rows[:] = [row for row in rows if row.arm != FLEET]
    return stream
