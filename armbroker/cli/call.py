"""`armbroker call`: one request."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from rich.console import Console

from armbroker.cli import plans_work
from armbroker.cli.exits import Exit
from armbroker.cli.lines import error_lines, reply_line, warning_lines
from armbroker.cli.login import Account
from armbroker.cli.outcome import ended
from armbroker.cli.times import ahead, length_ms
from armbroker.client import ArmClient, ClientError, NoReplyError, NotDoneError, ReplyDocument, RequestOptions
from schema.nearest import did_you_mean

SHOWN = 60
"""Characters of what was given that a message repeats."""
_WORDS: Mapping[str, tuple[str, ...]] = {
    "wait": ("applied", "stored"),
    "unit": ("deg", "rad"),
    "view": ("reported", "desired", "ground"),
    "when": ("now", "idle"),
}
TELL_AT_THE_END_S = 5.0
"""How long the end waits for what services say of themselves."""
NO_REPLY_YET_S = 2.0
"""After so long a person is told whether a service is there at all."""


class Request(NamedTuple):
    """One request as given on the command line; `params` is JSON, `timeout` in seconds."""

    arm: str
    method: str
    params: str
    timeout: float
    id: str | None
    options: RequestOptions
    keep: bool = False
    valid_for: str | None = None
    """How long the change counts, in words: `10min`."""
    until: str | None = None
    """Until when it counts: `22:00`, or RFC 3339."""

    def with_end(self) -> RequestOptions:
        """The options, with the end in the words of the protocol.

        Raises:
            ValueError: it is none.
        """
        options = self.options.copy()
        try:
            if self.valid_for is not None:
                options["valid_for_ms"] = length_ms(self.valid_for)
            if self.until is not None:
                options["until"] = ahead(self.until, datetime.now().astimezone())
        except ValueError as error:
            raise ValueError(f"--{'valid-for' if self.until is None else 'until'}: {error}") from None
        return options


def run(account: Account, request: Request, *, as_json: bool) -> Exit:
    """Send it and show the reply."""
    return ended(lambda: asyncio.run(_call(account, request, as_json=as_json)))


async def _call(account: Account, request: Request, *, as_json: bool) -> Exit:
    params = _object(request.params)
    _check_words(request.options)
    options = request.with_end()
    async with account.client() as client:
        telling = asyncio.create_task(_tell_if_away(client))
        try:
            reply = await client.call(
                request.arm,
                request.method,
                params,
                timeout=request.timeout,
                id=request.id,
                keep=request.keep,
                **options,
            )
        except NotDoneError as error:
            reply = error.reply
        except NoReplyError:
            await asyncio.wait([telling], timeout=TELL_AT_THE_END_S)
            raise
        finally:
            telling.cancel()
            await asyncio.wait([telling])
        plan = reply.get("plan")
        if plan and not reply["final"] and not as_json and sys.stdout.isatty() and request.options.get("wait") is None:
            await plans_work.followed(client, plan, request.timeout)
            reply["result"] = await plans_work.whole(client, plan, request.timeout)
    _show(reply, as_json=as_json)
    return Exit.OK if reply["ok"] else Exit.REFUSED


async def _tell_if_away(client: ArmClient) -> None:
    """While no reply comes: whether anybody is there who could give one."""
    await asyncio.sleep(NO_REPLY_YET_S)
    with contextlib.suppress(ClientError):
        services = await client.services()
        if not any(service.online for service in services):
            why = "; ".join(service.text for service in services) or "no service says that it serves this root"
            sys.stderr.write(f"armbroker call: no reply yet: {why}\n")
            sys.stderr.flush()


def group_of(only: str | None, away: str | None, *, all_or_nothing: bool) -> dict[str, Any] | None:
    """The options of a request to a group, None where none is given."""
    given = {"only": only.split(",") if only else None, "away": away, "all_or_nothing": all_or_nothing or None}
    return {name: value for name, value in given.items() if value is not None} or None


def _object(text: str) -> dict[str, Any]:
    try:
        params: object = json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:
        raise ValueError(f"PARAMS-JSON: {error}") from error
    except RecursionError:
        raise ValueError("PARAMS-JSON: nested too deep") from None
    if isinstance(params, dict):
        return params
    raise ValueError(f"PARAMS-JSON: an object is wanted, as in '{{\"z\":-9.81}}', not {text[:SHOWN]}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of key-value pairs; ValueError for a key that is given twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key[:SHOWN]!r} is given twice")
        found[key] = value
    return found


def _check_words(options: RequestOptions) -> None:
    """ValueError for a word that an option does not take."""
    for name, words in _WORDS.items():
        value = options.get(name)
        if isinstance(value, str) and value not in words:
            raise ValueError(f"--{name}: {value[:SHOWN]!r} is none of {', '.join(words)}{did_you_mean(value, words)}")


def _show(reply: ReplyDocument, *, as_json: bool) -> None:
    console = Console(highlight=False, soft_wrap=True, markup=False)
    if as_json:
        console.print(json.dumps(reply, ensure_ascii=False))
        return
    console.print(reply_line(reply), style="green" if reply["ok"] else "red")
    for line in (*([] if reply["ok"] else error_lines(reply)), *warning_lines(reply)):
        console.print(line)
    result = reply.get("result", {})
    if reply["arm"].startswith("@") and "total" in result.get("counts", {}) and "kind" not in result:
        console.print(plans_work.counts_of(reply.get("plan"), result))
        plans_work.show_rows(result.get("rows", []))
        return
    for name in ("result", "desired"):
        if reply.get(name):
            console.print(f"{name} {json.dumps(reply.get(name), indent=2, ensure_ascii=False)}")
