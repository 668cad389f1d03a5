"""`armbroker watch`: events and documents as they come."""

import asyncio
import json
import sys
from typing import Any

from broker.cli.exits import Exit
from broker.cli.lines import watched_line
from broker.cli.login import Account
from broker.cli.outcome import ended
from broker.client import Resynced, Watched, WatchedDocument, WatchedEvent


def run(account: Account, arm: str | None, *, as_json: bool) -> Exit:
    """Show until interrupted, or until nobody reads any more."""
    return ended(lambda: asyncio.run(_watch(account, arm, as_json=as_json)))


async def _watch(account: Account, arm: str | None, *, as_json: bool) -> Exit:
    async with account.client() as client, client.watch(arm) as watched:
        async for each in watched:
            line = json.dumps(as_document(each), ensure_ascii=False) if as_json else watched_line(each)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    return Exit.OK


def as_document(watched: Watched) -> dict[str, Any]:
    """One thing seen, as a JSON object: `type` says what, `event` or `document` is what was published."""
    match watched:
        case WatchedEvent(arm, event):
            return {"type": "event", "arm": arm, "event": event}
        case WatchedDocument(arm, name, document):
            return {"type": "document", "arm": arm, "name": name, "document": document}
        case Resynced(arm, why):
            return {"type": "resynced", "arm": arm, "why": why}
