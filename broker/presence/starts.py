"""The starts on our store: what they published is ours, so they have ended."""

import asyncio
from collections.abc import Mapping

import msgspec

from broker.presence.client_id import META_KEY as SECRET_KEY
from broker.store.store import Store

META_KEY = "starts"
STARTS_MOST = 100
"""Starts kept on record: the document of an earlier one was overwritten by those after it."""


def known_starts(meta: Mapping[str, str]) -> frozenset[str]:
    """The earlier starts that the store knows."""
    return frozenset(msgspec.json.decode(meta.get(META_KEY, "[]"), type=list[str]))


async def remember_start(store: Store, meta: Mapping[str, str], start: str, secret: str) -> None:
    """Record a start, and the secret of the client id, durably, before anything of it is published.

    Raises:
        StoreError: the store failed.
    """
    starts = msgspec.json.decode(meta.get(META_KEY, "[]"), type=list[str])
    store.batch.set_meta(META_KEY, msgspec.json.encode([*starts, start][-STARTS_MOST:]).decode())
    if meta.get(SECRET_KEY) != secret:
        store.batch.set_meta(SECRET_KEY, secret)
    store.flush_soon()
    committed = asyncio.ensure_future(store.committed())
    await asyncio.wait({committed, store.failed}, return_when=asyncio.FIRST_COMPLETED)
    if store.error is not None:
        committed.cancel()
        raise store.error
