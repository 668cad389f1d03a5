"""Ids that were used before."""

from collections.abc import Iterable

from broker.accept.arrival import Arrival
from broker.store.batch import RequestKey
from broker.store.errors import RowDamagedError
from broker.store.rows import RequestRow
from broker.store.store import Store
from schema.errors import BrokerError

NOTHING_DONE = "Nothing was done now: read the arm, then use a new id."


class KnownIds:
    """Finds what is kept under the id of a request."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._new: frozenset[RequestKey] | set[RequestKey] = frozenset()
        """Ids that nothing committed has."""

    def look(self, arrivals: Iterable[Arrival]) -> None:
        """Ask for the ids of messages in one query; counts until `forget`, while nothing is committed."""
        keys = {(arrival.topic.user, arrival.topic.conn, arrival.id) for arrival in arrivals if arrival.remembered}
        self._new = keys - self._store.used(keys) if keys else frozenset()

    def forget(self) -> None:
        """Something may have been committed since."""
        self._new = frozenset()

    def find(self, arrival: Arrival) -> RequestRow | None:
        """The request that had the id first.

        Raises:
            BrokerError: outcome_unknown: there is one, and what was kept of it is damaged.
        """
        key = (arrival.topic.user, arrival.topic.conn, arrival.id)
        try:
            return self._store.known_uncommitted(key) if key in self._new else self._store.known(*key)
        except RowDamagedError as error:
            text = f"id {arrival.id} is known, but what was kept of it is damaged: nobody knows what came of it"
            raise BrokerError("outcome_unknown", f"{text}. {NOTHING_DONE}") from error

    def is_new(self, arrival: Arrival) -> bool:
        """Whether nothing is kept under the id."""
        try:
            return self.find(arrival) is None
        except BrokerError:
            return False
