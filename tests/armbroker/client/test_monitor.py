from typing import Any

from armbroker.client.monitor import Again, Gap, Monitor, Resynced, Step, WatchedDocument, WatchedEvent

LIMIT, MODE = "config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", "mode"


def an_event(seq: int, prev: int, epoch: int = 1) -> dict[str, Any]:
    return {"epoch": epoch, "seq": seq, "prev": prev, "event": "X"}


def a_document(seq: int, epoch: int = 1) -> dict[str, Any]:
    return {"epoch": epoch, "seq": seq}


def shown(seq: int, prev: int, epoch: int = 1) -> WatchedEvent:
    return WatchedEvent("r12", an_event(seq, prev, epoch))


class At:
    """A monitor that has seen a document of r12 at `seq`."""

    def __init__(self, seq: int) -> None:
        self.monitor = Monitor()
        self.document(seq)

    def document(self, seq: int, epoch: int = 1, *, retained: bool = False) -> list[Step]:
        return self.monitor.document("r12", "config", a_document(seq, epoch), retained=retained)

    def event(self, topic: str, seq: int, prev: int, epoch: int = 1) -> list[Step]:
        return self.monitor.event("r12", topic, an_event(seq, prev, epoch))


def test_events_wait_for_the_first_document() -> None:
    monitor = Monitor()
    assert monitor.event("r12", LIMIT, an_event(8, 7)) == []
    steps = monitor.document("r12", "config", a_document(7), retained=True)
    assert steps == [WatchedDocument("r12", "config", a_document(7)), Again("r12", LIMIT, an_event(8, 7))]
    assert monitor.event("r12", LIMIT, an_event(8, 7)) == [shown(8, 7)]


def test_an_event_is_dropped_iff_it_is_not_above_the_last_of_its_topic() -> None:
    at = At(7)
    assert at.event(LIMIT, 9, 6) == [shown(9, 6)]
    assert at.event(LIMIT, 9, 6) == []
    assert at.event(LIMIT, 8, 6) == []
    assert at.event(MODE, 8, 3) == [shown(8, 3)]
    assert at.event(LIMIT, 10, 9, epoch=2) == [shown(10, 9, 2)]


def test_something_is_missing_iff_prev_is_above_the_last_of_its_topic_and_the_start() -> None:
    at = At(7)
    assert at.event(MODE, 9, 7) == [shown(9, 7)]
    assert at.event(LIMIT, 10, 8) == [Gap("r12", 7, 9), Again("r12", LIMIT, an_event(10, 8))]
    assert at.monitor.fetched("r12", LIMIT, an_event(8, 5)) == [shown(8, 5)]
    assert at.monitor.fetched("r12", MODE, an_event(9, 7)) == []
    at.monitor.filled(Gap("r12", 7, 9))
    assert at.event(LIMIT, 10, 8) == [shown(10, 8)]


def test_a_gap_that_stays_open_does_not_come_again() -> None:
    at = At(7)
    gap, again = at.event(LIMIT, 10, 12)
    assert isinstance(gap, Gap)
    assert isinstance(again, Again)
    at.monitor.filled(gap)
    assert at.monitor.event(*again) == [shown(10, 12)]


def test_a_document_above_the_highest_event_shows_a_gap() -> None:
    at = At(7)
    at.event(LIMIT, 8, 5)
    assert at.document(8) == [WatchedDocument("r12", "config", a_document(8))]
    assert at.document(10) == [Gap("r12", 8, 10), WatchedDocument("r12", "config", a_document(10))]


def test_documents_stored_before_belong_to_the_start() -> None:
    at = At(7)
    assert at.document(9, retained=True) == [WatchedDocument("r12", "config", a_document(9))]
    assert at.document(5, retained=True) == [WatchedDocument("r12", "config", a_document(5))]
    assert at.event(LIMIT, 10, 9) == [shown(10, 9)]


def test_a_restart_of_the_service_is_no_gap() -> None:
    at = At(7)
    assert at.document(7, epoch=2) == [WatchedDocument("r12", "config", a_document(7, 2))]
    assert at.event(LIMIT, 8, 7, epoch=2) == [shown(8, 7, 2)]


def test_a_restored_store_starts_anew() -> None:
    at = At(7)
    at.event(LIMIT, 8, 7)
    steps = at.document(4, epoch=2)
    assert steps == [
        Resynced("r12", "its store went back to seq 4"),
        WatchedDocument("r12", "config", a_document(4, 2)),
    ]
    assert at.event(LIMIT, 5, 2, epoch=2) == [shown(5, 2, 2)]


def test_an_event_of_a_restored_store_waits_for_its_document() -> None:
    at = At(7)
    assert at.event(LIMIT, 5, 2, epoch=2) == [Resynced("r12", "its store went back to seq 5")]
    assert at.document(5, epoch=2) == [
        WatchedDocument("r12", "config", a_document(5, 2)),
        Again("r12", LIMIT, an_event(5, 2, 2)),
    ]


def test_a_removed_arm_is_forgotten() -> None:
    at = At(7)
    assert at.monitor.document("r12", "config", None, retained=False) == [WatchedDocument("r12", "config", None)]
    assert at.document(1) == [WatchedDocument("r12", "config", a_document(1))]


def test_reset_forgets_everything() -> None:
    at = At(7)
    at.monitor.reset()
    assert at.event(LIMIT, 30, 29) == []


def test_arms_are_apart() -> None:
    at = At(7)
    assert at.monitor.document("r13", "config", a_document(50), retained=False) == [
        WatchedDocument("r13", "config", a_document(50))
    ]
    assert at.event(LIMIT, 8, 7) == [shown(8, 7)]


def test_after_a_lost_connection_documents_that_are_ahead_show_what_was_missed() -> None:
    monitor = Monitor()
    monitor.document("r12", "config", {"epoch": 1, "seq": 7}, retained=True)
    monitor.lost()
    assert monitor.document("r12", "presence", {"epoch": 1, "seq": 7}, retained=True) == [
        WatchedDocument("r12", "presence", {"epoch": 1, "seq": 7})
    ]
    assert monitor.document("r12", "config", {"epoch": 1, "seq": 9}, retained=True) == [
        Gap("r12", 7, 9),
        WatchedDocument("r12", "config", {"epoch": 1, "seq": 9}),
    ]


def test_a_service_that_counts_lower_than_before_has_another_store() -> None:
    monitor = Monitor()
    assert not monitor.service(1)
    monitor.document("r12", "config", {"epoch": 5, "seq": 7}, retained=True)
    assert not monitor.service(5)
    assert monitor.service(4)
    assert monitor.document("r12", "config", {"epoch": 4, "seq": 2}, retained=True) == [
        WatchedDocument("r12", "config", {"epoch": 4, "seq": 2})
    ]


def test_documents_of_plans_have_no_place_among_the_events() -> None:
    monitor, plan = Monitor(), {"epoch": 1, "plan": 3, "state": "running"}
    assert monitor.document("@all", "plan-3", plan, retained=True) == [WatchedDocument("@all", "plan-3", plan)]
    assert monitor.event("@all", "plan", an_event(8, 7)) == [], "it waits for the summary"
    monitor.document("@all", "fleet", a_document(8), retained=True)
    assert monitor.document("@all", "plan-3", None, retained=False) == [WatchedDocument("@all", "plan-3", None)]
    seen = WatchedEvent("@all", an_event(9, 8))
    assert monitor.event("@all", "plan", an_event(9, 8)) == [seen], "a plan that is cleared takes nothing with it"


def test_a_group_has_no_events_to_fetch_and_all_arms_have() -> None:
    monitor = Monitor()
    for group, steps in (("@cell", []), ("@all", [Gap("@all", 3, 7)])):
        monitor.document(group, "fleet", a_document(3), retained=True)
        seen = WatchedDocument(group, "fleet", a_document(7))
        assert monitor.document(group, "fleet", a_document(7), retained=False) == [*steps, seen]
