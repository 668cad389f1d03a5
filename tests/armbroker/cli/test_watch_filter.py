"""Which events a watch shows, and how those of before are found."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from armbroker.cli.watch_filter import Filter, checked_item, past_events
from armbroker.client import ReplyDocument, Resynced, WatchedDocument, WatchedEvent

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
PAGE = 100


def event(seq: int, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "at": (START + timedelta(minutes=seq)).isoformat(), **more}


class Store:
    """Events 1 to `head`, of which those from `first` on are kept; one a minute."""

    def __init__(self, head: int, first: int = 1) -> None:
        self.head, self.first = head, first
        self.asked = 0

    async def ask(self, after: int) -> ReplyDocument:
        self.asked += 1
        begin = max(after + 1, self.first)
        found = [event(seq) for seq in range(begin, min(self.head, begin + PAGE - 1) + 1)]
        more = bool(found) and found[-1]["seq"] < self.head
        result = {"events": found, "first_seq": self.first, "head_seq": self.head, "more": more}
        return cast("ReplyDocument", {"seq": self.head, "result": result})


@pytest.mark.parametrize("head", [0, 1, 150, 1000])
@pytest.mark.parametrize("wanted", [0, 1, 99, 650, 2000])
async def test_all_events_since_a_time_are_found_and_no_others(head: int, wanted: int) -> None:
    since = START + timedelta(minutes=head - wanted, seconds=1)
    past = await past_events(Store(head).ask, since)
    assert [each["seq"] for each in past.events] == list(range(max(1, head - wanted + 1), head + 1))
    assert (past.upto, past.gone) == (head, "")


async def test_what_is_kept_no_more_is_told() -> None:
    past = await past_events(Store(500, first=120).ask, START)
    assert [past.events[0]["seq"], past.events[-1]["seq"]] == [120, 500]
    assert past.gone == "events before seq 120 are kept no more"


async def test_few_events_of_many_cost_few_questions() -> None:
    store = Store(100_000)
    await past_events(store.ask, START + timedelta(minutes=99_990))
    assert store.asked <= 4


CHANGE = event(7, by={"user": "alice"}, change={"item": "gravity_vector"})


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        (Filter(), True),
        (Filter("alice"), True),
        (Filter("bob"), False),
        (Filter("", "gravity_vector"), True),
        (Filter("alice", "payload_information"), False),
        (Filter("bob", "gravity_vector"), False),
    ],
)
def test_events_are_chosen_by_user_and_item(chosen: Filter, shown: bool) -> None:
    assert chosen.shows(WatchedEvent("r1", CHANGE)) is shown


def test_an_event_of_nobody_and_nothing_is_of_no_user_and_no_item() -> None:
    bare = WatchedEvent("r1", event(1, by=None, change=None))
    assert Filter().shows(bare)
    assert not Filter("alice").shows(bare)
    assert not Filter("", "gravity_vector").shows(bare)


def test_what_may_be_missing_and_services_are_always_shown_documents_only_without_a_choice() -> None:
    for chosen in (Filter(), Filter("alice")):
        assert chosen.shows(Resynced("r1", "lost"))
        assert chosen.shows(WatchedDocument("main", "svc", {}))
    assert Filter().shows(WatchedDocument("r1", "config", {}))
    assert not Filter("alice").shows(WatchedDocument("r1", "config", {}))


def test_an_item_that_is_none_is_refused() -> None:
    assert checked_item("authority") == "authority"
    assert checked_item("") == ""
    with pytest.raises(ValueError, match=r"--item: 'gravity_vektor' is no item; did you mean 'gravity_vector'"):
        checked_item("gravity_vektor")
