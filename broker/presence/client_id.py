"""The client id of the service: who knows it, and the password, can take the session with the waiting requests.

So the one that nobody chose carries a secret, made at the first start and kept in the store.
"""

import secrets
from collections.abc import Mapping
from hashlib import blake2b

from broker.settings import Settings
from broker.topics import is_name

META_KEY = "client_secret"


def secret_of(meta: Mapping[str, str]) -> str:
    """The secret that the store keeps; a new one if it keeps none yet."""
    return meta.get(META_KEY) or secrets.token_hex(8)


def client_id_of(settings: Settings, secret: str) -> str:
    """The client id of the settings, else one of root, instance and secret; a long root is shortened to a digest."""
    if settings.mqtt.client_id:
        return settings.mqtt.client_id
    place = f"{settings.root.replace('/', '.')}-{settings.instance}"
    made = f"armbroker-{place}-{secret}"
    if is_name(made):
        return made
    digest = blake2b(f"{settings.root}/{settings.instance}".encode(), digest_size=8).hexdigest()
    return f"armbroker-{digest}-{secret}"


def earlier_client_id(settings: Settings, meta: Mapping[str, str], epoch: int) -> str:
    """The client id of a store that served before it had a secret; empty where there is none to leave behind."""
    if settings.mqtt.client_id or META_KEY in meta or epoch <= 1:
        return ""
    return f"armbroker-{settings.instance}"
