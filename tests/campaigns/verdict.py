"""What became of a campaign: what was lost, doubled or told wrongly, and its figures."""

import json
import sqlite3
import statistics
from collections import Counter, defaultdict
from datetime import datetime
from typing import Any

from tests.campaigns.campaign import Campaign, Document, Sent
from tests.campaigns.cells import Place
from tests.stored import ends as stored_ends
from tests.stored import event_bodies

TOOK_EFFECT = ("applied", "rounded", "clamped")
REPLACED = ("overwritten", "superseded")


class Verdict:
    """The verdict on a campaign that has ended; `wrong` holds what must not be."""

    def __init__(self, campaign: Campaign) -> None:
        self.wrong: list[str] = []
        self._campaign = campaign
        self._taken = campaign.cell.taken()
        self._times = Counter((one.place, one.value) for one in self._taken)
        self._ends: Counter[str] = Counter()
        self._back_s: list[float] = []
        self._foreign = 0
        self._expect(campaign.exit_code == 0, f"the service ended with {campaign.exit_code}")
        self._expect(not campaign.left, f"workers outlived the service: {campaign.left}")
        rows = sqlite3.connect(campaign.process.data / "store.sqlite3")
        for arm in campaign.cell.arms:
            self._judge_events(arm, rows)
            self._measure_absence(arm)
        self._judge_requests(rows)
        self._judge_reported(rows)
        rows.close()

    def _expect(self, condition: object, text: str) -> None:
        if not condition:
            self.wrong.append(text)

    def _judge_events(self, arm: str, rows: sqlite3.Connection) -> None:
        """Events have no gap, the monitor saw every one, and none is foreign that was ours."""
        stored = [*map(json.loads, event_bodies(rows, arm))]
        self._expect([one["seq"] for one in stored] == list(range(1, len(stored) + 1)), f"{arm}: a gap in seq")
        seen = {one["seq"]: one for one in self._campaign.monitor.events(f"{arm}/")}
        self._expect([seen.get(one["seq"]) for one in stored] == stored, f"{arm}: the monitor missed events")
        ids = Counter(one["request_id"] for one in stored if one.get("request_id"))
        self._expect(max(ids.values(), default=0) <= 1, f"{arm}: a request has two events: {ids.most_common(1)}")
        foreign = [one for one in stored if one["cause"] == "foreign"]
        self._foreign += len(foreign)
        if not self._campaign.cell.forgetful:
            self._expect(not foreign, f"{arm}: {len(foreign)} changes of ours were told as foreign: {foreign[:1]}")

    def _measure_absence(self, arm: str) -> None:
        away = 0.0
        for message in self._campaign.monitor.inbox:
            if message.topic == f"state/{arm}/presence":
                since = datetime.fromisoformat(message.document["since"]).timestamp()
                if message.document["state"] != "online":
                    away = away or since
                elif away:
                    self._back_s.append(since - away)
                    away = 0.0

    def _judge_requests(self, rows: sqlite3.Connection) -> None:
        """Each request has one end; an arm carried it out if it took effect, and never twice in a life."""
        ends: dict[str, list[str]] = defaultdict(list)
        for request_id, state, outcome in stored_ends(rows):
            ends[request_id].append(outcome if state == "settled" else state)
        for request_id, sent in self._campaign.sent.items():
            self._judge_one(request_id, sent, ends.get(request_id, []))
        for one, times in Counter(self._taken).items():
            self._expect(times == 1, f"{one} was carried out {times} times")
        asked = {(sent.place, sent.value) for sent in self._campaign.sent.values()}
        unasked = {*self._times} - asked
        self._expect(not unasked, f"the arms took what nobody asked for: {sorted(unasked)}")

    def _judge_one(self, request_id: str, sent: Sent, end: list[str]) -> None:
        times = self._times[sent.place, sent.value]
        refused = [reply for reply in sent.replies if reply["stage"] == "refused"]
        self._ends.update(end or ["refused"])
        self._expect(len(end) == 1 or (refused and not end), f"{request_id} has the ends {end}")
        effective = bool(end) and end[0] in TOOK_EFFECT
        self._expect(not effective or times, f"{request_id} ended as {end}, the arm never carried it out")
        for reply in sent.replies:
            if reply["stage"] == "applied":
                self._expect(effective, f"{request_id} was answered applied and ended as {end}")
        if times and not effective:
            self._expect(end and end[0] in REPLACED, f"{request_id} took effect and ended as {end}")

    def _judge_reported(self, rows: sqlite3.Connection) -> None:
        """What is reported is what the arms hold."""
        told: dict[Place, float] = {}
        for row in rows.execute("SELECT arm, key, mode, reported FROM item"):
            told |= self._campaign.cell.reported(*row)
        for place, value in self._campaign.held.items():
            self._expect(told.get(place) == value, f"{place}: {told.get(place)} is reported, the arm has {value}")

    def figures(self) -> Document:
        """What the run came to."""
        campaign = self._campaign
        replies = [reply for sent in campaign.sent.values() for reply in sent.replies]
        return {
            "requests": len(campaign.sent),
            "replies by stage": dict(Counter(reply["stage"] for reply in replies)),
            "refusals": dict(Counter(_why(reply["error"]) for reply in replies if reply["stage"] == "refused")),
            "ends": dict(self._ends),
            "carried out by the arms": len(self._taken),
            "foreign changes": self._foreign,
            "processes killed": len(campaign.memory_kib),
            "times away": len(self._back_s),
            "back after, median s": _rounded(self._back_s, statistics.median),
            "back after, longest s": _rounded(self._back_s, max),
            "memory of what was killed, median MiB": _rounded(campaign.memory_kib, statistics.median, 1024),
            "memory of what was killed, most MiB": _rounded(campaign.memory_kib, max, 1024),
            "wrong": self.wrong,
        }


def _why(error: Document) -> str:
    """The kind of a refusal, and what an arm said."""
    return f"{error['kind']}: {error['message']}" if error["kind"] == "arm_refused" else str(error["kind"])


def _rounded(numbers: list[Any], what: Any, unit: float = 1.0) -> float | None:
    """A statistic of some numbers."""
    return round(what(numbers) / unit, 2) if numbers else None
