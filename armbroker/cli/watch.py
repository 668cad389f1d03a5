"""`armbroker watch`: events and documents as they come."""

import asyncio
import json
import sys
from datetime import UTC, datetime
from typing import Any, NamedTuple

from armbroker.cli.exits import Exit
from armbroker.cli.lines import watched_line
from armbroker.cli.login import Account
from armbroker.cli.outcome import ended
from armbroker.cli.silence import Silence
from armbroker.cli.times import moment
from armbroker.cli.watch_filter import Filter, checked_item, past_events
from armbroker.client import ArmClient, ReplyDocument, Resynced, Watched, WatchedDocument, WatchedEvent

PAST_S = 15.0
"""How long one page of events of before may take."""
SILENCE_S = 3.0
"""After so long without a word of the arm it is said that nobody serves it."""


class Wanted(NamedTuple):
    """What is shown: of which arm (None: all), events since when, of which user and item."""

    arm: str | None
    since: str | None = None
    user: str = ""
    item: str = ""


def run(account: Account, wanted: Wanted, *, as_json: bool) -> Exit:
    """Show until interrupted, or until nobody reads any more."""
    return ended(lambda: asyncio.run(_watch(account, wanted, as_json=as_json)))


async def _watch(account: Account, wanted: Wanted, *, as_json: bool) -> Exit:
    arm, shown = wanted.arm, Filter(wanted.user, checked_item(wanted.item))
    since = None if wanted.since is None else moment(wanted.since, datetime.now(UTC))
    if since is not None and arm is None:
        raise ValueError("--since needs ARM: events of before are asked for arm by arm")
    async with account.client() as client, client.watch(arm) as watched:
        upto = 0 if since is None or arm is None else await _tell_past(client, arm, since, shown, as_json=as_json)
        later = asyncio.get_running_loop().call_later
        silence, services = later(SILENCE_S, _tell_silence, arm), Silence(_tell, later)
        try:
            async for each in watched:
                if each.arm == arm or arm is None:
                    silence.cancel()
                if isinstance(each, WatchedDocument) and each.name == "svc":
                    services.see(each.arm, each.document)
                told = isinstance(each, WatchedEvent) and each.event.get("seq", 0) <= upto
                if shown.shows(each) and not told:
                    _show(each, as_json=as_json)
        finally:
            silence.cancel()
            services.close()
    return Exit.OK


async def _tell_past(client: ArmClient, arm: str, since: datetime, shown: Filter, *, as_json: bool) -> int:
    """Show the events since a time; the seq of the last there was."""

    async def ask(after_seq: int) -> ReplyDocument:
        return await client.call(arm, "GetEvents", {"after_seq": after_seq}, timeout=PAST_S)

    past = await past_events(ask, since)
    if past.gone:
        _tell(past.gone)
    for event in past.events:
        if shown.shows(found := WatchedEvent(arm, event)):
            _show(found, as_json=as_json)
    return past.upto


def _show(each: Watched, *, as_json: bool) -> None:
    line = json.dumps(as_document(each), ensure_ascii=False) if as_json else watched_line(each)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


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
