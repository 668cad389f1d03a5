"""What commands look up of arms and groups before they do their work."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from armbroker.client import ArmClient, ClientError, WatchedDocument

Document = dict[str, Any]
PAGE = 500


async def documents(client: ArmClient, arm: str, names: tuple[str, ...], within_s: float) -> dict[str, Document]:
    """Retained documents of an arm, by name.

    Raises:
        ClientError: they do not come in time.
    """
    found: dict[str, Document] = {}
    try:
        async with asyncio.timeout(within_s), client.watch(arm, fetch=False) as watched:
            async for seen in watched:
                if isinstance(seen, WatchedDocument) and seen.name in names and seen.document is not None:
                    found[seen.name] = seen.document
                if len(found) == len(names):
                    break
    except TimeoutError:
        missing = ", ".join(name for name in names if name not in found)
        why = f"no such arm, or it was never read: nothing of {missing} came within {within_s:g} s"
        raise ClientError(f"{arm}: {why}") from None
    return found


async def pages(
    client: ArmClient, address: str, method: str, params: Document, entries: str, key: str, within_s: float
) -> AsyncIterator[Document]:
    """The entries of a result that comes page by page, each after the `key` of the last one."""
    after: Document = {}
    more = True
    while more:
        reply = await client.call(address, method, {**params, **after, "limit": PAGE}, timeout=within_s)
        result = reply.get("result", {})
        for entry in result[entries]:
            yield entry
        more = bool(result.get("more")) and bool(result[entries])
        after = {"after": result[entries][-1][key]} if more else {}


async def models(client: ArmClient, address: str, within_s: float) -> dict[str, str]:
    """The arms of `@group`, or the one arm, each with its model; empty where nobody knows it.

    Raises:
        ClientError: there is no such arm or group.
    """
    if address.startswith("@"):
        found = pages(client, address, "FindArms", {}, "arms", "arm", within_s)
        return {entry["arm"]: entry.get("model", "") async for entry in found}
    presence = (await documents(client, address, ("presence",), within_s))["presence"]
    return {address: presence.get("model", "")}
