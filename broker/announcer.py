"""What the service publishes of itself and its arms beside their state: retained, and again when it may be lost."""

from collections.abc import Collection, Iterable
from typing import Any

from broker import self_description
from broker.arms.arm_session import ArmSession
from broker.presence.document import ONLINE
from broker.presence.identity import Identity
from broker.publish.documents import NAMES
from broker.publish.outbox import Publication
from broker.record.ledger import Ledger
from broker.record.replies import JSON
from broker.settings import Settings
from broker.store.rows import ArmRow
from broker.topics import Topics


class Announcer:
    """Publishes `svc/...` and `meta/...`."""

    def __init__(self, settings: Settings, topics: Topics, ledger: Ledger, identity: Identity) -> None:
        self._settings = settings
        self._topics = topics
        self._ledger = ledger
        self._identity = identity

    def everything(self, sessions: Iterable[ArmSession]) -> None:
        """All that is retained, the documents of the arms included."""
        self.service()
        self._retain(self._topics.meta("errors"), self_description.errors())
        self._retain(self._topics.meta("asyncapi"), self_description.asyncapi(self._settings))
        for session in sessions:
            names = NAMES if session.state.adopted else ("presence",)
            self._ledger.documents.mark(session, *names)
            self.factsheet(session)

    def service(self) -> None:
        """What names the epoch."""
        self._identity.epoch = self._ledger.epoch
        self.presence(ONLINE)
        self._retain(self._topics.meta("service"), self_description.service(self._settings, self._ledger.epoch))

    def presence(self, state: str) -> None:
        """Whether the service is `online` or `offline`."""
        self._retain(self._topics.service(self._settings.instance), self._identity.document(state))

    def factsheet(self, session: ArmSession) -> None:
        """What an arm is."""
        self._retain(self._topics.meta(f"factsheet/{session.arm}"), self_description.factsheet(session))

    def follow(self, settings: Settings) -> None:
        """The settings were read again: publish what they change of what the service says of itself."""
        before = self_description.service(self._settings, self._ledger.epoch)
        self._settings = settings
        if self_description.service(settings, self._ledger.epoch) != before:
            self.service()

    def forget_removed(self, arms: Iterable[ArmRow], kept: Collection[str]) -> None:
        """Clear the retained topics of arms that the settings no longer name."""
        for row in arms:
            if row.arm not in kept:
                self.forget(row.arm)

    def forget(self, arm: str) -> None:
        """Clear the retained topics of an arm."""
        for name in NAMES:
            self._clear(self._topics.state(arm, name))
        self._clear(self._topics.meta(f"factsheet/{arm}"))

    def _retain(self, topic: str, document: dict[str, Any]) -> None:
        self._ledger.outbox.send(Publication(topic, JSON.encode_document(document), JSON.content_type, retain=True))

    def _clear(self, topic: str) -> None:
        self._ledger.outbox.send(Publication(topic, b"", retain=True))
