"""Ids that were used before."""

from collections.abc import Iterable

from broker.accept.arrival import Arrival
from broker.store.errors import RowDamagedError
from broker.store.job import key_of
from broker.store.rows import RequestRow
from broker.store.store import Store
from schema.errors import BrokerError

NOTHING_DONE = "Nothing was done now: read the arm, then use a new id."


class KnownIds:
    """Finds what is kept under the id of a request."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def look(self, arrivals: Iterable[Arrival]) -> None:
        """Ask for the ids of messages in one query; what is found counts until `forget`, while nothing is committed."""
        asked: dict[int, Arrival] = {}
        for arrival in arrivals:
            if arrival.remembered:
                topic = arrival.topic
                arrival.key = key = key_of(topic.user, topic.conn, arrival.id)
                if key not in asked:  # what comes twice at once has to be looked for when it is decided
                    asked[key] = arrival
        if asked:
            used, (opened, committing) = self._store.used(asked), self._store.uncommitted_names
            for key, arrival in asked.items():
                topic = arrival.topic
                name = (topic.user, topic.conn, arrival.id)
                arrival.is_new = key not in used and name not in opened and name not in committing

    def forget(self, arrivals: Iterable[Arrival]) -> None:
        """Something may have been committed since these were looked for."""
        for arrival in arrivals:
            arrival.is_new = False

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
