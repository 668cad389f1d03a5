"""`armbroker plan`, and what `armbroker call` shows of a group: a bar while a plan is at work, a table of its rows."""

import asyncio
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from armbroker.cli.exits import Exit
from armbroker.cli.login import Account
from armbroker.cli.outcome import ended
from armbroker.cli.times import clock
from armbroker.client import ArmClient

FLEET = "@all"
LOOK_S = 0.5
"""How often a plan at work is looked at."""
AT_REST = frozenset({"ended", "paused", "confirming", "proposed"})
"""States in which a plan stays until somebody does something."""
PAGE_MOST = 500


class Asked(NamedTuple):
    """One command about plans, with the timeout of each request in seconds."""

    account: Account
    timeout: float
    as_json: bool


def listed(asked: Asked, params: Mapping[str, Any]) -> Exit:
    """Show plans, newest first."""
    return ended(lambda: asyncio.run(_listed(asked, params)))


async def _listed(asked: Asked, params: Mapping[str, Any]) -> Exit:
    async with asked.account.client() as client:
        found = await _result(client, "ListPlans", params, asked.timeout)
    if asked.as_json:
        _say(json.dumps(found, ensure_ascii=False))
        return Exit.OK
    for plan in found["plans"]:
        _say(line_of(plan))
    if found["more"]:
        _say(f"more: --before {found['plans'][-1]['plan']}")
    return Exit.OK


def shown(asked: Asked, plan: int, state: str | None, *, follow: bool) -> Exit:
    """Show a plan with its rows; with `follow` wait for its end."""
    return ended(lambda: asyncio.run(_shown(asked, plan, state, follow=follow)))


async def _shown(asked: Asked, plan: int, state: str | None, *, follow: bool) -> Exit:
    async with asked.account.client() as client:
        if follow:
            await followed(client, plan, asked.timeout)
        found = await whole(client, plan, asked.timeout, state)
    if asked.as_json:
        _say(json.dumps(found, ensure_ascii=False))
    else:
        _say(line_of(found))
        for wave in found.get("waves", []):
            _say(f"wave {wave['n']}: {wave['arms']} arms, {wave['state']}")
        show_rows(found["rows"])
    return Exit.OK if found.get("outcome", "done") in ("done", "reversed") else Exit.REFUSED


def steered(asked: Asked, plan: int, action: str, reason: str | None, digest: str | None) -> Exit:
    """Do something with a plan."""
    return ended(lambda: asyncio.run(_steered(asked, plan, action, reason, digest)))


async def _steered(asked: Asked, plan: int, action: str, reason: str | None, digest: str | None) -> Exit:
    given = {"plan": plan, "action": action, "reason": reason, "digest": digest}
    async with asked.account.client() as client:
        params = {name: value for name, value in given.items() if value is not None}
        found = await _result(client, "SteerPlan", params, asked.timeout)
    _say(json.dumps(found) if asked.as_json else f"plan {found['plan']} is {found['state']}")
    return Exit.OK


async def _result(client: ArmClient, method: str, params: Mapping[str, Any], timeout: float) -> dict[str, Any]:  # noqa: ASYNC109
    reply = await client.call(FLEET, method, dict(params), timeout=timeout)
    return reply["result"]


async def whole(client: ArmClient, plan: int, timeout: float, state: str | None = None) -> dict[str, Any]:  # noqa: ASYNC109
    """A plan with all of its rows, or those in a state."""
    rows: list[dict[str, Any]] = []
    params: dict[str, Any] = {"plan": plan, "limit": PAGE_MOST} | ({} if state is None else {"state": state})
    while True:
        found = await _result(client, "GetPlan", params, timeout)
        rows += found["rows"]
        if not found["more"]:
            return found | {"rows": rows, "more": False}
        params["after"] = rows[-1]["arm"]


async def followed(client: ArmClient, plan: int, timeout: float) -> dict[str, Any]:  # noqa: ASYNC109
    """Wait until a plan has ended, or waits for somebody, with a bar on a terminal; the plan without rows."""
    columns = (TextColumn("plan {task.fields[plan]} {task.fields[state]}"), BarColumn(), MofNCompleteColumn())
    hidden = not sys.stderr.isatty()
    with Progress(*columns, console=Console(file=sys.stderr), transient=True, disable=hidden) as progress:
        task = progress.add_task("", total=None, plan=plan, state="")
        while True:
            found = await _result(client, "GetPlan", {"plan": plan, "limit": 1}, timeout)
            counts = found["counts"]
            done = counts["total"] - counts.get("waiting", 0)
            progress.update(task, total=counts["total"], completed=done, state=found["state"])
            if found["state"] in AT_REST:
                return found
            await asyncio.sleep(LOOK_S)


def line_of(plan: Mapping[str, Any]) -> str:
    """A plan in one line."""
    counts = ", ".join(f"{count} {state}" for state, count in plan["counts"].items() if state != "total")
    outcome = f" {plan['outcome']}" if "outcome" in plan else ""
    why = f" ({plan['why']})" if plan.get("why") else ""
    by = f"{plan['by']['user']}/{plan['by']['connection']}"
    head = f"plan {plan['plan']} {plan['kind']} {plan['state']}{outcome}{why}"
    return f"{head}: {plan['target']} {plan['method']} by {by} at {clock(plan['at'])[:8]}; {counts}"


def counts_of(plan: int | None, result: Mapping[str, Any]) -> str:
    """What became of the rows of a group, in one line; without a plan they were only looked at."""
    counts = ", ".join(f"{count} {state}" for state, count in result["counts"].items() if state != "total")
    words = [] if plan is None else ["plan", str(plan)]
    words += [result[name] for name in ("state", "outcome") if name in result]
    return f"{' '.join(words) or 'dry run'}: {counts}"


def show_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    """A table of rows, a line each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("arm", "state", "rev", "why"):
        table.add_column(name, overflow="fold", no_wrap=name != "why")
    empty = True
    for row in rows:
        empty = False
        final = "" if row["final"] else " (not final)"
        why = " ".join(filter(None, (row.get("kind", ""), row.get("message", ""))))
        table.add_row(row["arm"], f"{row['state']}{final}", str(row["rev"]), why)
    if not empty:
        Console(highlight=False, markup=False).print(table)


def _say(text: str) -> None:
    Console(highlight=False, soft_wrap=True, markup=False).print(text)
