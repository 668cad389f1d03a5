"""What passes through the service, counted where it passes: answers, refusals, and how long changes take by stage."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial

from broker.arms.jobs import ChangeJob
from broker.histogram import FAST_S, Counted, Histogram
from broker.store.batch import Batch
from broker.store.store import Store
from handlers.rpc_table import RPC_TABLE
from schema.envelope import Reply, Stage

STORE, QUEUE, ARM, SETTLE, PUBLISH = STAGES = ("store", "queue", "arm", "settle", "publish")
"""What a change goes through: from its receipt to commit 1; to the arm; until the arm is read back; to commit 2; and
the publications, until the MQTT server took them."""
BOUNDS_S = (*FAST_S, 30.0, 120.0)
OTHER = "other"
"""Stands for methods that are none, and for users that are not told apart."""
OPEN = "open"
"""The outcome of a change that was answered before it had its end and that nobody can tell yet."""
SHOWN_AFTER = 10
"""So many refusals of a user without an entry in the settings make it a user of its own in what is told."""
SHOWN_MOST = 20
"""Such users at most."""
SEEN_MOST = 1_000
"""Such users that are watched for it."""
FOLD = 256
"""Changes, or publications, whose times are kept before they are counted."""


class Traffic:
    """Counts since the start; keys are bounded by the tables of methods and errors, and by the settings.

    Args:
        store: what the ends of changes are committed to.
        monotonic: seconds of the monotonic clock.
        known: the users of the settings.
    """

    def __init__(self, store: Store, monotonic: Callable[[], float], known: Iterable[str] = ()) -> None:
        self._store, self._monotonic = store, monotonic
        self.answers: dict[tuple[str, str, str], int] = defaultdict(int)
        """Answers by method, outcome (a stage, or `open`) and codec."""
        self.refusals: dict[tuple[str, str], int] = defaultdict(int)
        """Refusals by user and kind."""
        self._stages = {stage: Histogram(BOUNDS_S) for stage in STAGES}
        self._batch: Batch | None = None
        self._open: list[ChangeJob] = []
        """Changes that ended in `_batch`."""
        self._ended: list[tuple[float, list[ChangeJob]]] = []
        """Changes whose end was committed, and when; their times are not counted yet."""
        self._uncounted = 0
        self._published_s: list[float] = []
        """How long publications took whose times are not counted yet."""
        self.on_ended: Callable[[list[ChangeJob], float], None] | None = None
        """Gets the changes whose ends were committed, and when."""
        self._seen: dict[str, int] = {}
        self._shown: set[str] = set()
        self.follow(known)

    def follow(self, known: Iterable[str]) -> None:
        """These are the users of the settings from now on."""
        self._known = frozenset(known)

    def answered(self, reply: Reply, codec: str, user: str) -> None:
        """A reply was given."""
        method, error = reply.method, reply.error
        outcome = reply.stage if error is None or reply.stage is Stage.REFUSED else OPEN
        self.answers[method if method in RPC_TABLE else OTHER, outcome, codec] += 1
        if error is not None:
            self.refusals[user if user in self._known or user in self._shown else self._named(user), error.kind] += 1

    def change_ended(self, job: ChangeJob) -> None:
        """A change has its end in the batch that is open now."""
        job.ended_s = self._monotonic()
        batch = self._store.batch
        if batch is not self._batch:
            self._batch, self._open = batch, []
            batch.on_commit(partial(self._committed, self._open))
        self._open.append(job)

    def published(self, seconds: float) -> None:
        """The MQTT server took a publication that was given so long ago."""
        self._published_s.append(seconds)
        if len(self._published_s) >= FOLD:
            self._fold()

    @property
    def stages(self) -> dict[str, Counted]:
        """How long each stage took."""
        self._fold()
        return {stage: histogram.counted for stage, histogram in self._stages.items()}

    def _committed(self, jobs: list[ChangeJob]) -> None:
        now_s = self._monotonic()
        self._ended.append((now_s, jobs))
        if self.on_ended is not None:
            self.on_ended(jobs, now_s)
        self._uncounted += len(jobs)
        if self._uncounted >= FOLD:
            self._fold()

    def _fold(self) -> None:
        """Count what was kept; a stage that a change passed over, or that was in an earlier run, has no time."""
        ended, self._ended, self._uncounted = self._ended, [], 0
        jobs = [job for _, some in ended for job in some]
        stages = self._stages
        stages[STORE].add_all([job.stored_s - job.received_s for job in jobs if job.stored_s >= 0 <= job.received_s])
        stages[QUEUE].add_all([job.written_s - job.stored_s for job in jobs if job.written_s >= 0 <= job.stored_s])
        stages[ARM].add_all([job.ended_s - job.written_s for job in jobs if job.written_s >= 0])
        published_s, self._published_s = self._published_s, []
        stages[PUBLISH].add_all(published_s)
        stages[SETTLE].add_all([at_s - job.ended_s for at_s, some in ended for job in some])

    def _named(self, user: str) -> str:
        """What stands for a user without an entry: itself once it was refused often, unless there are many of them."""
        count = self._seen.get(user, 0) + 1
        if count > SHOWN_AFTER and len(self._shown) < SHOWN_MOST:
            self._seen.pop(user, None)
            self._shown.add(user)
            return user
        if len(self._seen) >= SEEN_MOST:
            self._seen.clear()
        self._seen[user] = min(count, SHOWN_AFTER)
        return OTHER
