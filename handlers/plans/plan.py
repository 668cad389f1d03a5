"""A plan as it is told and kept: what was asked, which never changes, and how far it got."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec

from handlers.plans.rollout import Gate, Spec, WaveState
from handlers.plans.rows import NOT_TAKEN, Row, RowState, Tally
from handlers.plans.states import PlanKind, PlanOutcome, PlanState
from schema.codecs.times import format_time
from schema.envelope import PARALLEL, Author, Away

DIGEST_DIGITS = 16
FAILED_SHOWN = 16
"""Rows that did not succeed which the document of a plan names."""
_canonical = msgspec.json.Encoder(order="sorted").encode


class Asked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a plan is to do, and who asked for it; stored once. Times in µs since 1970, 0 = none.

    `params` is UTF-8 JSON, `arms` are in the order of work, `waves` the number of arms in each wave.
    """

    kind: PlanKind
    target: str
    method: str
    params: bytes
    arms: tuple[str, ...]
    user: str
    conn: str
    proven: bool
    id: str
    reason: str = ""
    unit: str = ""
    at_us: int
    expires_us: int = 0
    """When rows that have not begun end."""
    until_us: int = 0
    """When what it changes ends."""
    when_idle: bool = False
    ttl_ms: int = 0
    valid_for_ms: int = 0
    """How long what it changes lasts, where that and no time was asked for."""
    if_rev: int | None = None
    all_or_nothing: bool = False
    away: int = Away.WAIT
    parallel: int = PARALLEL
    digest: str = ""
    waves: tuple[int, ...] = ()
    rollout: Spec | None = None
    trace: str = ""

    @property
    def author(self) -> Author:
        """Who asked for it."""
        return Author(self.user, self.conn, self.proven)

    @property
    def request_id(self) -> str:
        """`<user>/<conn>/<id>`."""
        return f"{self.user}/{self.conn}/{self.id}"


class Progress(msgspec.Struct, kw_only=True, gc=False):
    """How far a plan got; stored anew whenever it moves."""

    state: PlanState = PlanState.CHECKING
    outcome: PlanOutcome | None = None
    why: str = ""
    wave: int = 0
    wave_state: WaveState = WaveState.RUNNING
    since_us: int = 0
    """When it came to its present state, or its wave to its own."""
    due_us: int = 0
    """When the present state ends by itself: a proposal expires, a confirmation is over."""
    ended_at_us: int = 0
    approved_by: str = ""
    approved_at_us: int = 0
    second: bool = False
    """Whether a second person has, or had, to approve it."""
    approved_n: int = 0
    """The place of the approval in the order of acceptance."""
    reversed_by: tuple[str, str, bool] | None = None
    starts: int = 0
    """How many starts after an unclean end found it at work."""
    wave_at_us: int = 0
    """When its wave came to its present state."""
    forgiven: list[str] = []
    """Arms whose failures somebody knew of when he let it go on."""
    shown: bool = False
    """Whether it has a document."""
    replied: bool = False
    kept: dict[str, str] = {}
    """What stays of rows that are taken back, by arm."""
    stored_us: int = 0
    """When the plan was stored last: with its moves, and with the end of its last row."""


def with_waves(asked: Asked, arms: tuple[str, ...], waves: tuple[int, ...]) -> Asked:
    """The same with its arms in the order of work; those behind the waves take no part."""
    return msgspec.structs.replace(asked, arms=arms, waves=waves)


def digest_of(method: str, params: object, arms: tuple[str, ...], options: object) -> str:
    """What an approval names: hex digits over method, params, arms and options."""
    said = _canonical({"method": method, "params": params, "arms": sorted(arms), "options": options})
    return sha256(said).hexdigest()[:DIGEST_DIGITS]


_WAITS, _SKIPPED = Row(""), Row("", RowState.SKIPPED, final=True)


@dataclass(slots=True, eq=False)
class Plan:
    """One plan with its rows; an arm without a row waits, and is skipped once none begins any more."""

    n: int
    place: int
    """Its place in the order of acceptance: what was accepted at a higher one wins."""
    asked: Asked
    progress: Progress
    rows: dict[str, Row] = field(default_factory=dict)
    counts: Counter[RowState] = field(default_factory=Counter)
    finals: int = 0
    under_way: int = 0
    gated: dict[str, Gate] = field(default_factory=dict)
    """Arms on which a gate opened."""

    def __post_init__(self) -> None:
        self.recount()

    def recount(self) -> None:
        """Count the rows as they stand."""
        absent = len(self.asked.arms) - len(self.rows)
        self.counts = Counter({self._absent.state: absent})
        self.counts.update(row.state for row in self.rows.values())
        self.finals = sum(row.final for row in self.rows.values()) + absent * self._absent.final
        self.under_way = sum(row.under_way for row in self.rows.values())

    @property
    def _absent(self) -> Row:
        """What stands for an arm without a row."""
        return _SKIPPED if self.progress.state in (PlanState.ENDED, PlanState.REVERSING) else _WAITS

    @property
    def order(self) -> int:
        """What was accepted at a higher place wins over it: that of its approval, or its own."""
        return self.progress.approved_n or self.place

    @property
    def state(self) -> PlanState:
        """How far it got."""
        return self.progress.state

    @property
    def live(self) -> bool:
        """Whether it has not ended."""
        return self.progress.state is not PlanState.ENDED

    @property
    def waits(self) -> bool:
        """Whether it waits for a second person."""
        return self.progress.state is PlanState.PROPOSED

    @property
    def tally(self) -> Tally:
        """What its rows say together."""
        return Tally(self.counts, len(self.asked.arms), len(self.asked.arms) - self.finals)

    def row(self, arm: str) -> Row:
        """The row of an arm; one that is not kept yet if it waits."""
        return self.rows.get(arm) or msgspec.structs.replace(self._absent, arm=arm)

    def in_order(self) -> Iterator[Row]:
        """All rows in the order of their arms."""
        for arm in sorted(self.asked.arms):
            yield self.row(arm)

    def change(self, row: Row, **now: Any) -> Row:
        """Put a row, with some of its fields anew, in the place of the one of its arm."""
        before = self.rows.get(row.arm, self._absent)
        self.counts[before.state] -= 1
        self.finals -= before.final
        self.under_way -= before.under_way
        row = msgspec.structs.replace(row, **now)
        self.rows[row.arm] = row
        self.counts[row.state] += 1
        self.finals += row.final
        self.under_way += row.under_way
        return row

    def failed(self) -> Iterator[Row]:
        """The rows that did not succeed, in the order of their arms."""
        return (self.rows[arm] for arm in sorted(self.rows) if self.rows[arm].state in NOT_TAKEN)

    # ------------------------------------------------------------------ told

    def shown(self) -> dict[str, Any]:
        """The plan without params and rows."""
        asked, now = self.asked, self.progress
        document: dict[str, Any] = {"plan": self.n, "kind": asked.kind.value, "state": now.state.value}
        if now.outcome is not None:
            document["outcome"] = now.outcome.value
        if now.why:
            document["why"] = now.why
        document["by"] = {"user": asked.user, "connection": asked.conn, "proven": asked.proven}
        if now.approved_by:
            document["approved_by"] = now.approved_by
        document |= {
            "request_id": asked.request_id, "target": asked.target, "method": asked.method, "digest": asked.digest,
            "reason": asked.reason, "at": format_time(asked.at_us),
        }  # fmt: skip
        times = {"until": asked.until_us, "expires": now.due_us, "ended_at": now.ended_at_us}
        document |= {name: format_time(time_us) for name, time_us in times.items() if time_us}
        if asked.kind is PlanKind.ROLLOUT:
            document |= {"wave": now.wave, "waves": self.waves()}
        document["counts"] = self.tally.shown()
        return document

    def whole(self) -> dict[str, Any]:
        """The plan with its params, without rows."""
        return self.shown() | {"params": msgspec.json.decode(self.asked.params)}

    def waves(self) -> list[dict[str, Any]]:
        """The waves: number, arms, state."""
        now, sizes = self.progress, self.sizes()
        return [{"n": n, "arms": size, "state": self._wave_state(n, now).value} for n, size in enumerate(sizes)]

    def sizes(self) -> list[int]:
        """How many arms each wave has."""
        return [*self.asked.waves]

    def _wave_state(self, n: int, now: Progress) -> WaveState:
        if n == now.wave and now.state is not PlanState.CHECKING:
            return now.wave_state
        return WaveState.ENDED if n < now.wave else WaveState.WAITING

    def document(self) -> dict[str, Any]:
        """What its retained document says beside who serves it."""
        return self.shown() | {
            "failed": [row.shown() for row, _ in zip(self.failed(), range(FAILED_SHOWN), strict=False)]
        }
