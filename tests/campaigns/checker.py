"""What must hold when a campaign is over, judged from outside: what was answered, told, kept, and done by the arms.

It asks the service as any client does, and reads the arms' own journal; it shares no code with what it judges.
"""

import asyncio
from collections import Counter, defaultdict
from typing import Any

from tests.campaigns.figures import Figures
from tests.campaigns.people import Asked, Document, Person, Told
from tests.campaigns.stage import ITEM, PATIENCE_S, TOO_FAST, Stage

TOOK_EFFECT = ("applied", "rounded")
PAGE = 500


class Checker:
    """Judges one stage at rest; what is wrong goes into `figures`.

    `foreign`: whether others changed the arms, too, or they came back with other values. `forgetful`: whether the MQTT
    server lost what it had taken, so that the monitor need not have been told everything.
    """

    def __init__(self, stage: Stage, figures: Figures, *, foreign: bool = False, forgetful: bool = False) -> None:
        self._stage, self._figures, self._foreign, self._forgetful = stage, figures, foreign, forgetful
        self._expect = figures.expect
        self._done = Counter((place, number) for place, number, _ in stage.taken())
        self._last = {place: number for place, number, _ in stage.taken()}

    async def judge(self) -> None:
        """Everything; the service has to be at rest and to take requests, its `judged_s` at most."""
        async with asyncio.timeout(self._stage.judged_s), self._stage.serving():
            await self._judge_all()

    async def _judge_all(self) -> None:
        eye, stage = self._stage.monitor, self._stage
        histories = {arm: await _history(eye, arm) for arm in stage.arms}
        events = {arm: await _events(eye, arm) for arm in stage.arms}
        for arm in stage.arms:
            self._judge_events(arm, events[arm])
        by_request: dict[str, list[Document]] = defaultdict(list)
        for entry in (entry for history in histories.values() for entry in history):
            by_request[entry["request_id"]].append(entry)
        for asked in stage.asked.values():
            self._judge_request(asked, by_request[asked.full_id])
        await self._judge_repeats()
        self._judge_arms()
        await self._judge_documents(events)
        trace = stage.process.log.partition("Traceback")[2]
        self._expect(not trace, f"a traceback in the log: {trace[:3000]}")
        self._figures.count("requests", len(stage.asked))
        self._figures.count("replies", sum(len(asked.replies) for asked in stage.asked.values()))
        self._figures.count("carried out by the arms", sum(self._done.values()))
        self._figures.count("events", sum(map(len, events.values())))

    def _judge_events(self, arm: str, events: list[Document]) -> None:
        """They have no gap, follow one another on each topic, and the monitor was told each just as it is kept."""
        self._expect([event["seq"] for event in events] == list(range(1, len(events) + 1)), f"{arm}: a gap in seq")
        heads: dict[str, int] = defaultdict(int)
        for event in events:
            self._expect(event["prev"] == heads[event["event"]], f"{arm} {event['seq']}: prev {event['prev']}")
            heads[event["event"]] = event["seq"]
            if not self._foreign:
                self._expect(event["cause"] != "foreign", f"{arm} {event['seq']}: ours, told as foreign")
        told: dict[tuple[int, int], Document] = {}
        for message in self._stage.monitor.told:
            if message.topic.startswith(f"evt/{arm}/"):
                event = message.document
                before = told.setdefault((event["epoch"], event["seq"]), event)
                self._expect(before == event, f"{arm} {event['seq']}: told twice with another content")
        marks = [(event["epoch"], event["seq"]) for event in events]
        missing = [
            event["seq"]
            for mark, event in zip(marks, events, strict=True)
            if told.get(mark) != event and not (self._forgetful and mark not in told)
        ]
        self._expect(not missing, f"{arm}: events that were kept and not told, or told otherwise: {missing[:5]}")
        self._expect(len(told) <= len(events), f"{arm}: {len(told) - len(events)} events were told and not kept")

    def _judge_request(self, asked: Asked, entries: list[Document]) -> None:
        """One end, which agrees with every reply, and with what the arm did."""
        params = asked.fields["params"]
        times = self._done[(asked.arm, params["control_mode"]), params[ITEM]]
        ends = [entry["outcome"] for entry in entries]
        self._expect(len(ends) <= 1, f"{asked.full_id} has the ends {ends}")
        effective = bool(ends) and ends[0] in TOOK_EFFECT
        if not self._foreign:
            self._expect(times <= 1, f"{asked.full_id} was carried out {times} times")
            self._expect(not effective or times, f"{asked.full_id} ended as {ends}, and no arm did it")
        final = {(reply["ok"], reply["stage"], reply["rev"]) for reply in asked.replies if reply["final"]}
        self._expect(len(final) <= 1, f"{asked.full_id} was answered {final}")
        for reply in asked.replies:
            if params[ITEM] == TOO_FAST:
                self._expect(not reply["ok"], f"{asked.full_id} is illegal and was taken")
            if reply["ok"] and reply["stage"] in ("stored", "applied"):
                known = any(entry["rev"] == reply["rev"] for entry in entries)
                self._expect(known, f"{asked.full_id} was answered {reply['stage']}, rev {reply['rev']}, and is lost")
            if reply["stage"] == "applied":
                self._expect(effective, f"{asked.full_id} was answered applied, and ended as {ends}")
        self._expect(not times or entries, f"{asked.full_id} was carried out, and nothing is known of it")

    async def _judge_repeats(self) -> None:
        """Each answered request is known: the same again gets the same outcome, marked as a repeat."""
        people = {person.user: person for person in self._stage.users}
        for asked in self._stage.asked.values():
            final = [reply for reply in asked.replies if reply["final"]]
            if not final:
                continue
            again = await people[asked.full_id.partition("/")[0]].ask(asked, PATIENCE_S)
            same = all(again[name] == final[0][name] for name in ("ok", "stage", "rev", "seq"))
            self._expect(again.get("duplicate") and same, f"{asked.full_id}: {again} is no repeat of {final[0]}")
            self._figures.count("repeats at the end")

    def _judge_arms(self) -> None:
        """The arms did nothing that nobody asked for, in the order of their commands."""
        wanted = {
            ((asked.arm, asked.fields["params"]["control_mode"]), asked.fields["params"][ITEM])
            for asked in self._stage.asked.values()
        }
        unasked = [one for one in self._done if one not in wanted]
        self._expect(not unasked, f"the arms did what nobody asked for: {unasked[:3]}")
        last: dict[str, tuple[int, int]] = {}
        for (arm, _), number, pair in self._stage.taken():
            self._expect(pair > last.get(arm, (0, 0)), f"{arm}: {number} under {pair} after {last.get(arm)}")
            last[arm] = pair

    async def _judge_documents(self, events: dict[str, list[Document]]) -> None:
        """What is retained tells the last event of each arm, and what the arms hold."""
        for arm in self._stage.arms:
            seq = len(events[arm])
            for name, part in (("config", "items"), ("reported", "items")):
                document = await self._retained(f"state/{arm}/{name}", seq)
                values = document[part].get(ITEM, {})
                for (place, mode), number in self._last.items():
                    if place == arm and not self._foreign:
                        shown = values.get(mode)
                        self._expect(shown == number, f"{arm} {name} {mode}: {shown} is shown, the arm has {number}")

    async def _retained(self, topic: str, seq: int) -> Document:
        """The last document of a topic, once it tells the event `seq`."""
        await self._stage.monitor.until(lambda told: told.topic == topic and told.document["seq"] >= seq)
        return _last(self._stage.monitor.told, topic)


def _last(told: list[Told], topic: str) -> Document:
    return next(message.document for message in reversed(told) if message.topic == topic)


async def _history(eye: Person, arm: str) -> list[Document]:
    """All changes that requests made, newest first."""
    return await _pages(eye, arm, "GetHistory", "changes", lambda page: {"before_rev": page[-1]["rev"]})


async def _events(eye: Person, arm: str) -> list[Document]:
    """All events, oldest first."""
    found = await _pages(eye, arm, "GetEvents", "events", lambda page: {"after_seq": page[-1]["seq"]}, after_seq=0)
    return sorted(found, key=lambda event: int(event["seq"]))


async def _pages(eye: Person, arm: str, method: str, name: str, onward: Any, **first: int) -> list[Document]:
    found: list[Document] = []
    params: Document = dict(first)
    while True:
        reply = await eye.call(arm, method, {**params, "limit": PAGE})
        found += reply["result"][name]
        if not reply["result"]["more"]:
            return found
        params = onward(found)
