"""What the service publishes of itself and its arms beside their state: retained, and again when it may be lost."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from broker import self_description
from broker.arms.arm_session import ArmSession
from broker.presence.document import ONLINE
from broker.presence.identity import Identity
from broker.publish.comparison import FACTSHEET
from broker.publish.contents import NAMES
from broker.publish.outbox import Publication, Watched
from broker.publish.shortening import shortener
from broker.record.ledger import Ledger
from broker.record.replies import JSON
from broker.settings import Settings
from broker.store.rows import ArmRow
from broker.topics import Topics
from handlers.policy.rules import Policy

Shorten = Callable[[dict[str, Any], int], bytes]
"""Makes the payload of a document of at most so many bytes."""


class Announcer:
    """Publishes `svc/...` and `meta/...`."""

    def __init__(self, settings: Settings, topics: Topics, ledger: Ledger, identity: Identity) -> None:
        self._settings = settings
        self._topics = topics
        self._ledger = ledger
        self._identity = identity
        self._policy: Policy | None = None

    def mend(self, retained: Mapping[str, bytes]) -> None:
        """Publish what is not retained as it is: payload by name below `meta/`."""
        for name, document in self._of_the_service().items():
            made = self._publication(self._topics.meta(name), document, self_description.SHORTENED.get(name))
            if retained.get(name) != self._ledger.outbox.fitted(made):
                self._ledger.outbox.send(made)

    def _of_the_service(self) -> dict[str, dict[str, Any]]:
        """The documents of the service itself, by name below `meta/`."""
        return {
            "service": self._service(),
            "errors": self_description.errors(),
            "asyncapi": self_description.asyncapi(self._settings),
            "groups": self_description.groups(self._settings),
        }

    def service(self) -> None:
        """What names the epoch."""
        self._identity.epoch = self._ledger.epoch
        self.presence(ONLINE)
        self._retain(self._topics.meta("service"), self._service())

    def _service(self) -> dict[str, Any]:
        return self_description.service(self._settings, self._ledger.epoch, self._policy)

    def presence(self, state: str) -> None:
        """Whether the service is `online` or `offline`."""
        self._retain(self._topics.service(self._settings.instance), self._identity.document(state))

    def factsheet(self, session: ArmSession) -> None:
        """What an arm is changed."""
        self._ledger.documents.mark(session, FACTSHEET)

    def begin(self, policy: Policy | None) -> None:
        """Tell of the service for the first time, and of its policy."""
        self._policy = policy
        self.service()

    def follow(self, settings: Settings, policy: Policy | None) -> None:
        """The settings were read again: publish what they change of what the service says of itself."""
        before = self._service()
        if (groups := self_description.groups(settings)) != self_description.groups(self._settings):
            self._retain(self._topics.meta("groups"), groups)
        self._settings, self._policy = settings, policy
        if self._service() != before:
            self.service()

    def forget_removed(self, arms: Iterable[ArmRow], kept: Collection[str]) -> None:
        """Clear the retained topics of arms that the settings no longer name, and of names that arms had before."""
        for arm in (*(row.arm for row in arms if row.arm not in kept), *self._settings.renames.values()):
            self.forget(arm)

    def forget(self, arm: str) -> None:
        """Clear the retained topics of an arm."""
        for name in NAMES:
            self._clear(self._topics.state(arm, name))
        self._clear(self._topics.meta(f"factsheet/{arm}"))

    def _retain(self, topic: str, document: dict[str, Any]) -> None:
        self._ledger.outbox.send(self._publication(topic, document))

    def _publication(self, topic: str, document: dict[str, Any], short: Shorten | None = None) -> Publication:
        payload = JSON.encode_document(document)
        shorten = shortener("", payload) if short is None else partial(short, document)
        return Watched(topic, payload, JSON.content_type, retain=True, shorten=shorten)

    def _clear(self, topic: str) -> None:
        self._ledger.outbox.send(Publication(topic, b"", retain=True))
