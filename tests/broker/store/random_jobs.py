"""Jobs as they come: numbers that lie far apart, ends out of order, revisions that are taken late."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from broker.store.rows import ChangeRow, ChangeUpdate, EventRow, RequestRow, RequestUpdate
from broker.store.store import Store

NOW_US = 1_800_000_000_000_000
ARMS, KEYS = ("arm1", "arm2", "arm3"), ("payload", "gravity_vector", "tool")


@dataclass
class Jobs:
    """What was put into a store, arm by arm: (revision, number, item) of changes, (seq, number) of events."""

    changes: dict[str, list[tuple[int, int, str]]] = field(default_factory=lambda: {arm: [] for arm in ARMS})
    events: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {arm: [] for arm in ARMS})
    n: int = 0
    waiting: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    """Changes without an end: arm, revision, item."""

    def accept(self, store: Store, random: Random) -> None:
        """Put a request and its change into the open batch; one in six takes no revision yet."""
        self.n += random.choice((1, 1, 2, 30, 300))
        arm, key = random.choice(ARMS), random.choice(KEYS)
        rev = 0 if random.random() < 1 / 6 else len(self.changes[arm]) + 1
        user, method, at_us = "alice", "SetPayloadInformation", NOW_US + self.n
        store.batch.add_request(
            RequestRow(
                n=self.n, user=user, conn="c", id=f"id-{self.n}", fingerprint=b"f", arm=arm, method=method, at_us=at_us,
                address="res", correlation=b"", codec="json",
            )
        )  # fmt: skip
        store.batch.add_change(
            ChangeRow(
                n=self.n, arm=arm, rev=rev, verb="set", key=key, before=b"before", after=b"after", at_us=at_us,
                user=user, conn="c", request_id=f"alice/c/id-{self.n}", method=method,
            )
        )  # fmt: skip
        self.waiting[self.n] = arm, rev, key
        if rev:
            self.changes[arm].append((rev, self.n, key))

    def reopen(self, store: Store, n: int) -> None:
        """Let a committed change take a revision after all."""
        arm, rev, key = self.waiting[n]
        if rev == 0:
            rev = len(self.changes[arm]) + 1
            self.changes[arm].append((rev, n, key))
            self.waiting[n] = arm, rev, key
            store.batch.reopen_change(n, rev, b"late")

    def end(self, store: Store, n: int) -> None:
        """Let a committed change end, with its event and reply."""
        arm, rev, _ = self.waiting.pop(n)
        seq = self._event(store, arm, n, rev)
        store.batch.update_change(
            ChangeUpdate(n=n, state="settled", after=b"after", outcome="applied", seq=seq, settled_at_us=NOW_US + n)
        )
        store.batch.update_request(RequestUpdate(n=n, outcome=b"done", reply_open=True, rev=rev))

    def tell(self, store: Store, random: Random) -> None:
        """Put an event that nobody asked for into the open batch."""
        self.n += 1
        self._event(store, random.choice(ARMS), self.n, 0)

    def _event(self, store: Store, arm: str, n: int, rev: int) -> int:
        seq = len(self.events[arm]) + 1
        self.events[arm].append((seq, n))
        store.batch.add_event(
            EventRow(
                n=n, arm=arm, seq=seq, epoch=1, prev=seq - 1, rev=rev, at_us=NOW_US + n, topic="config/X",
                body=b"body %d" % n,
            )
        )  # fmt: skip
        return seq


async def filled(store: Store, random: Random, commits: int, committed: Callable[[Store], Awaitable[None]]) -> Jobs:
    """Fill a store with so many commits; what it holds then."""
    jobs = Jobs()
    for _ in range(commits):
        for n in random.sample(sorted(jobs.waiting), min(len(jobs.waiting), random.randrange(4))):
            (jobs.end if random.random() < 0.7 else jobs.reopen)(store, n)
        for _ in range(random.randrange(1, 4)):
            jobs.accept(store, random)
        if random.random() < 0.2:
            jobs.tell(store, random)
        await committed(store)
    return jobs
