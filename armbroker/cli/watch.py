"""`armbroker watch`: events and documents as they come."""

import asyncio
import json
import sys
from typing import Any

from armbroker.cli.exits import Exit
from armbroker.cli.lines import watched_line
from armbroker.cli.login import Account
from armbroker.cli.outcome import ended
from armbroker.cli.silence import Silence
from armbroker.client import Resynced, Watched, WatchedDocument, WatchedEvent

SILENCE_S = 3.0
"""After so long without a word of the arm it is said that nobody serves it."""


def run(account: Account, arm: str | None, *, as_json: bool) -> Exit:
    """Show until interrupted, or until nobody reads any more."""
    return ended(lambda: asyncio.run(_watch(account, arm, as_json=as_json)))


async def _watch(account: Account, arm: str | None, *, as_json: bool) -> Exit:
    async with account.client() as client, client.watch(arm) as watched:
        later = asyncio.get_running_loop().call_later
        silence, services = later(SILENCE_S, _tell_silence, arm), Silence(_tell, later)
        try:
            async for each in watched:
                if each.arm == arm or arm is None:
                    silence.cancel()
                if isinstance(each, WatchedDocument) and each.name == "svc":
                    services.see(each.arm, each.document)
                line = json.dumps(as_document(each), ensure_ascii=False) if as_json else watched_line(each)
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
        finally:
            silence.cancel()
            services.close()
    return Exit.OK


def _tell_silence(arm: str | None) -> None:
    """Say that nobody tells of the arm: its documents are retained, and come at once where there are any."""
    what = "of anything below this root" if arm is None else f"of an arm {arm!r}"
    _tell(f"no service tells {what}; still listening")


def _tell(text: str) -> None:
    sys.stderr.write(f"armbroker: {text}\n")
    sys.stderr.flush()


def as_document(watched: Watched) -> dict[str, Any]:
    """One thing seen, as a JSON object: `type` says what, `event` or `document` is what was published."""
    match watched:
        case WatchedEvent(arm, event):
            return {"type": "event", "arm": arm, "event": event}
        case WatchedDocument(arm, name, document):
            return {"type": "document", "arm": arm, "name": name, "document": document}
        case Resynced(arm, why):
            return {"type": "resynced", "arm": arm, "why": why}
