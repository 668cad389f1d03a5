"""Ids that were used before."""

from broker.accept.arrival import Arrival
from broker.store.errors import RowDamagedError
from broker.store.rows import RequestRow
from broker.store.store import Store
from schema.errors import BrokerError

NOTHING_DONE = "Nothing was done now: read the arm, then use a new id."


class KnownIds:
    """Finds what is kept under the id of a request."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, arrival: Arrival) -> RequestRow | None:
        """The request that had the id first.

        Raises:
            BrokerError: outcome_unknown: there is one, and what was kept of it is damaged.
        """
        try:
            return self._store.known(arrival.topic.user, arrival.topic.conn, arrival.id)
        except RowDamagedError as error:
            text = f"id {arrival.id} is known, but what was kept of it is damaged: nobody knows what came of it"
            raise BrokerError("outcome_unknown", f"{text}. {NOTHING_DONE}") from error

    def is_new(self, arrival: Arrival) -> bool:
        """Whether nothing is kept under the id."""
        try:
            return self.find(arrival) is None
        except BrokerError:
            return False
