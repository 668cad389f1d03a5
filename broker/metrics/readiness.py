"""Whether requests are taken, and answered in time."""

from broker.accept.turnstile import REPLIES_MOST, Turnstile
from broker.link.mqtt_link import MqttLink
from broker.presence.presence import Presence
from broker.record.ledger import Ledger

BEHIND_MOST = 1_000
"""Requests that may wait for their turn; beyond it a service has not caught up."""


def obstacles(link: MqttLink, presence: Presence, ledger: Ledger, turnstile: Turnstile) -> list[str]:
    """Why requests are not taken, or wait for long: a line each; nothing where all is well."""
    waiting, _ = turnstile.waiting
    backlog = ledger.outbox.backlog
    checks = (
        (not link.connected, "it is not connected to the MQTT server"),
        (ledger.store.error is not None, f"the store failed: {ledger.store.error}"),
        (ledger.store.reserve.look(), "the disk of the store is full: changes are refused"),
        (not presence.sure, "it has to make sure that no other service took its place"),
        (waiting > BEHIND_MOST, f"{waiting} requests wait for their turn, more than {BEHIND_MOST}"),
        (backlog >= REPLIES_MOST, f"{backlog} publications wait for the MQTT server: nothing is decided meanwhile"),
    )
    return [why for true, why in checks if true]
