"""What must hold of plans, judged from outside: GetPlan, histories, events, what is retained, and what arms took.

Every value is asked for once, so that what an arm took tells whose it was. No code of the service is used.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from tests.campaigns.figures import Figures
from tests.campaigns.people import Asked, Document, Person
from tests.campaigns.stage import ITEM, Stage

PAGE = 500
WHOLE = "control_configuration"
"""What the history calls the item of a change of several slots."""
TOOK_EFFECT = ("applied", "rounded")
BEGUN = ("applied", "unchanged", "unknown", "reversed", "kept", "stored")
"""States of rows that were accepted, beside what arms refused."""
NEXT = {
    "": {"PLAN_PROPOSED", "PLAN_STARTED", "PLAN_ENDED"},
    "PLAN_PROPOSED": {"PLAN_STARTED", "PLAN_ENDED"},
    "PLAN_STARTED": {"PLAN_WAVE_ENDED", "PLAN_PAUSED", "PLAN_REVERSING", "PLAN_ENDED"},
    "PLAN_WAVE_ENDED": {"PLAN_WAVE_ENDED", "PLAN_PAUSED", "PLAN_REVERSING", "PLAN_ENDED"},
    "PLAN_PAUSED": {"PLAN_RESUMED", "PLAN_REVERSING", "PLAN_ENDED"},
    "PLAN_RESUMED": {"PLAN_WAVE_ENDED", "PLAN_PAUSED", "PLAN_REVERSING", "PLAN_ENDED"},
    "PLAN_REVERSING": {"PLAN_ENDED"},
    "PLAN_ENDED": {"PLAN_REVERSING"},
}
"""What may be told of a plan after what."""
AGREE = ("state", "outcome", "why", "counts", "wave", "waves", "approved_by", "digest", "ended_at")
"""Fields of a plan that its document has, too."""
_TAKEN_BACK = {"waiting", "stored", "reversed", "kept"}
"""What may become of a row that has its end, once its plan is taken back."""


class Watched:
    """What was told of plans before: it has to hold afterwards."""

    def __init__(self, stage: Stage, figures: Figures) -> None:
        self._stage, self._figures, self._expect = stage, figures, figures.expect
        self._before: dict[int, Document] = {}

    async def look(self) -> None:
        """Look at the plans that were live at the last look, and at newer ones."""
        async with asyncio.timeout(self._stage.rest_s), self._stage.serving():
            listed = (await self._stage.monitor.call("@all", "ListPlans", {"limit": 12}))["result"]["plans"]
            for shown in listed:
                now = await plan_of(self._stage.monitor, shown["plan"])
                counted(now, self._figures)
                if (before := self._before.get(now["plan"])) is not None:
                    self._compare(before, now)
                self._before[now["plan"]] = now
                self._figures.count("looks at plans")

    def _compare(self, before: Document, now: Document) -> None:
        head = f"plan {now['plan']}"
        for name in ("request_id", "target", "method", "params", "digest", "kind"):
            self._expect(before[name] == now[name], f"{head}: {name} was {before[name]}, is {now[name]}")
        self._expect(before.get("approved_by", "") in ("", now.get("approved_by")), f"{head}: its approval is lost")
        self._expect(before.get("wave", 0) <= now.get("wave", 0), f"{head}: it went back to wave {now.get('wave')}")
        if before["state"] == "ended":
            self._expect(now["state"] in ("ended", "reversing"), f"{head} had ended and is {now['state']}")
            lost = before["outcome"] in ("rejected", "expired") and before["outcome"] != now.get("outcome")
            self._expect(not lost, f"{head} was {before['outcome']}, is {now.get('outcome')}")
        for was, row in zip(before["rows"], now["rows"], strict=True):
            back = row["state"] in _TAKEN_BACK and (was["state"] == "applied" or was.get("kind") == "partial")
            same = row == was or not was["final"] or (back and self._was(now["plan"], "PLAN_REVERSING"))
            self._expect(same, f"{head}: a row had its end, {was}, and is {row}")
        if before["state"] == now["state"] == "paused" and before.get("why") == now.get("why"):
            begun = [
                row["arm"]
                for was, row in zip(before["rows"], now["rows"], strict=True)
                if was["state"] == "waiting" and not was["rev"] and row["state"] != "waiting"
            ]
            resumed = self._was(now["plan"], "PLAN_RESUMED")  # then it may be another pause
            self._expect(not begun or resumed, f"{head} is paused, and these began: {begun}")

    def _was(self, plan: int, name: str) -> bool:
        """Whether an event was ever told of a plan, or the MQTT server lost it."""
        told = [one.document for one in self._stage.monitor.told if one.topic == "evt/@all/plan"]
        return any(event["plan"] == plan and event["event"] == name for event in told)


class Checker:
    """Judges one stage at rest; what is wrong goes into `figures`."""

    def __init__(
        self, stage: Stage, asked: Mapping[str, Asked], groups: Mapping[str, list[str]], figures: Figures
    ) -> None:
        self._stage, self._asked, self._groups, self._figures = stage, asked, groups, figures
        self._expect = figures.expect
        self._plans: dict[int, Document] = {}
        self._entries: dict[str, list[Document]] = {}
        self._events: dict[int, list[Document]] = defaultdict(list)
        self._taken: Counter[tuple[str, str, float]] = Counter()

    async def judge(self) -> None:
        """Everything."""
        async with asyncio.timeout(3 * self._stage.rest_s), self._stage.serving():
            await self._fetch()
            for plan in self._plans.values():
                self._judge_plan(plan)
            self._judge_requests()
            self._judge_arms()
            await self._judge_documents()
        trace = self._stage.process.log.partition("Traceback")[2]
        self._expect(not trace, f"a traceback in the log: {trace[:3000]}")

    async def _fetch(self) -> None:
        eye = self._stage.monitor
        for shown in await plans_of(eye):
            self._plans[shown["plan"]] = await plan_of(eye, shown["plan"])
        for arm in self._stage.arms:
            entries = await paged(eye, arm, "GetHistory", "changes", "before_rev", "rev")
            self._entries[arm] = [entry for entry in entries if entry["item"] in (ITEM, WHOLE)]
        events = await paged(eye, "@all", "GetEvents", "events", "after_seq", "seq", after_seq=0)
        seqs = [event["seq"] for event in events]
        self._expect(seqs == list(range(1, len(seqs) + 1)), f"@all: the numbers of events are {seqs[:5]} ...")
        for event in events:
            if "plan" in event:
                self._events[event["plan"]].append(event)
        for taken in self._stage.taken():
            self._taken[*taken.place, taken.number] += 1
        self._figures.count("plans", len(self._plans))
        self._figures.count("taken by arms", sum(self._taken.values()))

    # ------------------------------------------------------------------ one plan

    def _judge_plan(self, plan: Document) -> None:
        n, rows = plan["plan"], plan["rows"]
        target = plan["target"]
        members = self._groups[target[1:]] if target.startswith("@") else [target]
        self._expect(
            sorted(members) == [row["arm"] for row in rows], f"plan {n}: rows of {[row['arm'] for row in rows]}"
        )
        counted(plan, self._figures)
        self._expect(plan["state"] == "ended", f"plan {n} is {plan['state']}")
        self._figures.count(f"{plan['kind']} {plan.get('outcome')}")
        for row in rows:
            self._figures.count(f"rows {row['state']}")
            self._expect(row["final"], f"plan {n}: {row} has no end")
            self._judge_row(plan, row)
        if plan.get("approved_by"):
            self._figures.count("approved")
        self._judge_moves(n)
        self._judge_second_person(plan)
        if plan["kind"] == "rollout":
            self._judge_waves(plan)
        if self._is_whole(plan):
            begun = [row["arm"] for row in rows if self._begun(n, row)]
            left = [row["arm"] for row in rows if row["arm"] not in begun and row["state"] != "skipped"]
            self._expect(not begun or not left, f"plan {n}: all or nothing, {begun} began and {left} did not")

    def _is_whole(self, plan: Document) -> bool:
        asked = self._asked.get(plan["request_id"])
        return bool(asked and asked.fields.get("group", {}).get("all_or_nothing"))

    def _begun(self, n: int, row: Document) -> bool:
        return row["state"] in BEGUN or bool(self._of_plan(n, row["arm"]))

    def _of_plan(self, n: int, arm: str, *, undone: bool = False) -> list[Document]:
        """What the history of an arm has of a plan: of its row, or of what took that back."""
        return [one for one in self._entries[arm] if one.get("plan") == n and (one["method"] == "Reverse") == undone]

    def _judge_row(self, plan: Document, row: Document) -> None:
        """One outcome, which the history of the arm, and what it took, agree with."""
        n, arm, state = plan["plan"], row["arm"], row["state"]
        forward, back = self._of_plan(n, arm), self._of_plan(n, arm, undone=True)
        head = f"plan {n} {arm} {state}"
        self._expect(len(forward) <= 1, f"{head}: done {len(forward)} times: {[one['outcome'] for one in forward]}")
        did = effects(forward[0]) if forward else {}
        undid = [effect for one in back for effect in [effects(one)] if effect]
        self._expect(len(undid) <= 1, f"{head}: taken back {len(undid)} times")
        if state == "applied":
            self._expect(did and row["rev"] == forward[0]["rev"], f"{head}: {row}, and the history has {forward}")
            self._expect(not undid, f"{head}: it was taken back")
        elif state in ("skipped", "checked"):
            self._expect(not forward and not back, f"{head}: the history has {forward + back}")
            for mode, value in wanted(plan).items():
                self._expect(not self._taken[arm, mode, value], f"{head}: the arm took {value}")
        elif state == "refused" and row.get("kind") != "partial":
            self._expect(not did, f"{head} {row.get('kind')}: it took effect, {forward}")
        elif state == "unchanged":
            self._expect(not did, f"{head}: it changed {did}")
        elif state == "reversed":
            led = {mode: before for mode, (before, _) in did.items()}
            got = {mode: after for mode, (_, after) in (undid[0] if undid else {}).items()}
            self._expect(got == led, f"{head}: led back to {got}, before it was {led}, by {back}")
        else:
            self._expect(state in ("refused", "kept"), f"{head}: {row}, {forward}")

    def _judge_moves(self, n: int) -> None:
        """What is told of a plan follows one after another, each of its states once."""
        last = ""
        for event in self._events[n]:
            self._expect(event["event"] in NEXT[last], f"plan {n}: {event['event']} after {last or 'nothing'}")
            last = event["event"]
        self._expect(last == "PLAN_ENDED", f"plan {n}: the last of its events is {last or 'none'}")
        cause = self._events[n][-1]["cause"] if self._events[n] else ""
        outcome = self._plans[n].get("outcome")
        self._expect(cause == outcome, f"plan {n}: told {cause}, and is {outcome}")

    def _judge_second_person(self, plan: Document) -> None:
        """Of a proposal nothing begins without a second person, whose name then is in the history."""
        n = plan["plan"]
        proposed = any(event["event"] == "PLAN_PROPOSED" for event in self._events[n])
        by = plan.get("approved_by", "")
        self._expect(proposed or not by, f"plan {n}: {by} approved what nobody proposed")
        if proposed:
            self._expect(by != plan["by"]["user"], f"plan {n}: {by} approved it, who asked for it")
        for row in plan["rows"]:
            for entry in self._of_plan(n, row["arm"]):
                known = entry.get("approved_by", "") == by and bool(by) is proposed
                self._expect(known, f"plan {n} {row['arm']}: approved by {by!r}, and the history has {entry}")

    def _judge_waves(self, plan: Document) -> None:
        """No wave began before the one before it was over, and nobody passed a gate that did not open."""
        n, sizes = plan["plan"], [wave["arms"] for wave in plan["waves"]]
        allowed, resumed, seen = 0, False, []
        for event in self._events[n]:
            resumed |= event["event"] == "PLAN_RESUMED"
            if event["event"] != "PLAN_WAVE_ENDED":
                continue
            wave, counts = event["details"]["wave"], event["details"]["counts"]
            allowed = sum(sizes[: wave + 1])
            seen.append(wave)
            self._figures.count("waves")
            begun = counts["total"] - counts.get("waiting", 0) - counts.get("skipped", 0)
            self._expect(begun <= allowed, f"plan {n}: {begun} rows had begun in the waves to {wave}, of {allowed}")
            ended = [entry["at"] for row in plan["rows"] for entry in self._of_plan(n, row["arm"])]
            early = sum(at < event["at"] for at in ended)
            self._expect(early <= allowed, f"plan {n}: {early} rows ended before wave {wave} was over, of {allowed}")
            bad = counts.get("refused", 0) + counts.get("unknown", 0)
            most = self._asked[plan["request_id"]].fields["params"]["max_failed"]
            self._expect(resumed or bad <= most, f"plan {n}: wave {wave} ended with {bad} failed rows")
        self._expect(seen == list(range(len(seen))), f"plan {n}: its waves ended as {seen}")
        if plan.get("outcome") == "done":
            self._expect(len(seen) == len(sizes), f"plan {n} is done after the waves {seen} of {len(sizes)}")
            needs = self._asked[plan["request_id"]].fields["params"].get("confirm_within_ms")
            confirmed = any(
                asked.method == "SteerPlan" and asked.fields["params"] == {"plan": n, "action": "resume"}
                for asked in self._asked.values()
            )
            self._expect(confirmed or not needs, f"plan {n} is done, and nobody confirmed it")

    # ------------------------------------------------------------------ requests, arms, documents

    def _judge_requests(self) -> None:
        """Each request is one plan at most, the one that every reply to it names."""
        by_request: dict[str, list[int]] = defaultdict(list)
        for n, plan in self._plans.items():
            by_request[plan["request_id"]].append(n)
        for full_id, asked in self._asked.items():
            plans = by_request.pop(full_id, [])
            self._expect(len(plans) <= 1, f"{full_id} is the plans {plans}")
            told = {reply["plan"] for reply in asked.replies if reply.get("plan")}
            self._expect(told <= set(plans), f"{full_id} was told the plans {told}, and is {plans}")
        self._expect(not by_request, f"nobody asked for {dict(by_request)}")

    def _judge_arms(self) -> None:
        """Arms took what the histories say that they did, each as often, and have what is desired of them last."""
        sure: Counter[tuple[str, str, float]] = Counter()
        maybe: Counter[tuple[str, str, float]] = Counter()
        for arm, entries in self._entries.items():
            for entry in entries:
                done = effects(entry)
                for mode, value in after(entry).items():
                    (sure if mode in done else maybe)[arm, mode, value] += 1
        for place in sure.keys() | maybe.keys() | self._taken.keys():
            least, most, took = sure[place], sure[place] + maybe[place], self._taken[place]
            self._expect(least <= took <= most, f"{place} was taken {took} times, asked for {least} to {most} times")

    async def _judge_documents(self) -> None:
        """What is retained tells the same as GetPlan and FindArms, to somebody who comes now."""
        for _ in range(100):
            wrong = await self._disagreements()
            if not wrong:
                break
            await asyncio.sleep(0.2)  # documents follow, at most one in two seconds
        for text in wrong:
            self._expect(False, text)

    async def _disagreements(self) -> list[str]:
        root, port = self._stage.process.root, self._stage.server.port
        wrong = []
        async with Person(port, root, "late", filters=("state/#",)) as late:
            await late.call("@all", "WhoAmI", {})
            held = {told.topic: told.document for told in late.told if told.payload}
        for n, plan in self._plans.items():
            shown = held.pop(f"state/@all/plan-{n}", None)
            if shown is None:
                continue
            differs = [name for name in AGREE if shown.get(name) != plan.get(name)]
            wrong += [f"plan {n}: {name} is {shown.get(name)} in its document, {plan.get(name)}" for name in differs]
        wrong += [f"a document of no plan: {topic}" for topic in held if "/plan-" in topic]
        last = {taken.place: taken.number for taken in self._stage.taken()}
        for (arm, mode), number in last.items():
            for name in ("config", "reported"):
                shows = held.get(f"state/{arm}/{name}", {}).get("items", {}).get(ITEM, {}).get(mode)
                wrong += [f"{arm} {name} {mode}: {shows} is shown, the arm has {number}"] * (shows != number)
        for group, arms in self._groups.items():
            found = (await self._stage.monitor.call(f"@{group}", "FindArms", {"limit": PAGE}))["result"]["arms"]
            summary = held.get(f"state/@{group}/fleet", {})
            want = {
                "arms": len(arms), "online": sum(one["presence"] == "online" for one in found), "plans": [],
                "pending": 0, "differs": sum(one["differs"] for one in found),
            }  # fmt: skip
            wrong += [f"@{group}: {key} is {summary.get(key)}, not {value}" for key, value in want.items()
                      if summary.get(key) != value]  # fmt: skip
        return wrong


def counted(plan: Document, figures: Figures) -> None:
    """The counts of a plan are those of its rows, and no arm has two of them."""
    rows, n = plan["rows"], plan["plan"]
    counts = {"total": len(rows), **Counter(row["state"] for row in rows)}
    figures.expect(counts == plan["counts"], f"plan {n}: it counts {plan['counts']}, its rows are {counts}")
    figures.expect(len({row["arm"] for row in rows}) == len(rows), f"plan {n}: an arm has two rows")


def wanted(plan: Document) -> dict[str, float]:
    """What a plan asks for, by mode."""
    params = plan["params"]
    params = params.get("params", params) if plan["method"] == "Rollout" else params
    if "items" in params:
        return dict(params["items"][ITEM])
    return {params["control_mode"]: params[ITEM]}


def after(entry: Document) -> dict[str, float]:
    """What a change was to bring, by mode."""
    if entry["item"] == ITEM:
        return {entry["slot"]: entry["after"]}
    return {path.partition("/")[2]: value for path, value in (entry["after"] or {}).items()}


def effects(entry: Document) -> dict[str, tuple[float, float]]:
    """What took effect of a change: the values before and after, by mode."""
    if entry["item"] == ITEM:
        took = entry["outcome"] in TOOK_EFFECT
        return {entry["slot"]: (entry["before"], entry["after"])} if took else {}
    done = [path for path, outcome in entry["outcomes"].items() if outcome in TOOK_EFFECT]
    return {path.partition("/")[2]: (entry["before"].get(path), entry["after"][path]) for path in done}


async def plan_of(eye: Person, n: int) -> Document:
    """A plan with all of its rows, in the order of their arms."""
    found: Document = (await eye.call("@all", "GetPlan", {"plan": n, "limit": PAGE}))["result"]
    return found


async def plans_of(eye: Person) -> list[Document]:
    """All plans, without rows, newest first."""
    return await paged(eye, "@all", "ListPlans", "plans", "before", "plan")


async def paged(
    eye: Person, target: str, method: str, name: str, onward: str, key: str, **first: int
) -> list[Document]:
    """All pages of an answer."""
    found: list[Document] = []
    params: dict[str, Any] = dict(first)
    while True:
        result = (await eye.call(target, method, {**params, "limit": PAGE}))["result"]
        found += result[name]
        if not result["more"]:
            return found
        params = {onward: result[name][-1][key]}
