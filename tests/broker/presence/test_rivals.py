"""What a document asks of a service that hears it."""

import pytest

from broker.clock import Clock
from broker.counters import Counters
from broker.presence.document import OFFLINE, ONLINE, STARTING, SvcDocument
from broker.presence.identity import Identity
from broker.presence.rivals import Answer, Rivals

OWN = SvcDocument(STARTING, since="09", start="own")
OTHER = SvcDocument(ONLINE, since="08", start="other", epoch=4)


def rivals(*, passed: bool = False, take_over: bool = False, epoch: int = 1) -> Rivals:
    """Rivals of a service `main`, since 09, before or after its claim stands."""
    own = Identity("main", Clock(), Counters(lambda: 0.0), epoch, take_over=take_over)
    own.start, own.since, own.passed = "own", "09", passed
    return Rivals(own, frozenset({"before"}))


def test_a_retained_document_alone_ends_nobody() -> None:
    found = rivals()
    assert found.hear("main", OTHER, 5.0, retained=True) is Answer.TELL
    first = found.first()
    assert first is not None
    assert (first.instance, first.at_s, first.heard) == ("main", 5.0, False)
    assert found.hear("main", OTHER, 6.0, retained=False) is Answer.END
    assert found.stronger is first
    assert "start other" in str(first)


def test_who_is_offline_or_of_our_store_is_no_rival() -> None:
    found = rivals()
    found.hear("x", OTHER, 0.0, retained=True)
    found.hear("x", SvcDocument(OFFLINE, start="other"), 0.0, retained=False)
    found.hear("main", SvcDocument(ONLINE, start="before"), 0.0, retained=True)
    assert found.first() is None
    assert len(found) == 0


def test_of_two_claims_the_one_that_was_there_first_counts() -> None:
    claim = SvcDocument(STARTING, since="10", start="other")
    earlier, later = rivals(), rivals()
    assert earlier.hear("x", claim, 0.0, retained=False) is Answer.END
    later.hear("main", OWN, 0.0, retained=False)
    assert later.hear("x", claim, 0.0, retained=False) is Answer.TELL
    assert later.first() is None
    assert later.hear("x", SvcDocument(STARTING, start="other", passed=True), 0.0, retained=False) is Answer.END


def test_after_a_lost_connection_while_it_claims_everything_is_earlier_again() -> None:
    found = rivals()
    found.hear("main", OWN, 0.0, retained=False)
    found.listen_anew()
    assert found.hear("x", SvcDocument(STARTING, start="other"), 0.0, retained=False) is Answer.END


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        (OTHER, Answer.END),
        (SvcDocument(ONLINE, since="08", start="other", epoch=1), Answer.END),
        (SvcDocument(ONLINE, since="10", start="other", epoch=1), Answer.TELL),
        (SvcDocument(ONLINE, since="08", start="other", epoch=0), Answer.TELL),
        (SvcDocument(STARTING, since="08", start="other", epoch=4), Answer.TELL),
        (SvcDocument(STARTING, since="10", start="other", take_over=True), Answer.END),
        (SvcDocument(OFFLINE, since="08", start="other", epoch=4), Answer.NOTHING),
    ],
)
def test_what_a_service_at_work_answers(document: SvcDocument, answer: Answer) -> None:
    assert rivals(passed=True).hear("x", document, 0.0, retained=False) is answer


@pytest.mark.parametrize(
    "document",
    [
        None,
        SvcDocument(OFFLINE),
        SvcDocument(ONLINE),
        SvcDocument(OFFLINE, start="own"),
        SvcDocument(ONLINE, start="before"),
    ],
)
def test_its_own_topic_has_to_say_that_it_is_there(document: SvcDocument | None) -> None:
    assert rivals(passed=True).hear("main", document, 0.0, retained=False) is Answer.TELL
    assert rivals(passed=True).hear("x", document, 0.0, retained=False) is Answer.NOTHING
    assert rivals().hear("main", document, 0.0, retained=False) is Answer.NOTHING


def test_who_takes_over_ends_for_a_later_one_only() -> None:
    other = SvcDocument(STARTING, start="other", take_over=True)
    earlier, later = rivals(take_over=True), rivals(take_over=True)
    assert earlier.hear("x", other, 0.0, retained=False) is Answer.TELL
    later.hear("main", OWN, 0.0, retained=False)
    assert later.hear("x", other, 0.0, retained=False) is Answer.END
    assert rivals(take_over=True).hear("x", OTHER, 0.0, retained=False) is Answer.TELL


def test_the_highest_epoch_of_others_is_kept() -> None:
    found = rivals(epoch=9)
    found.hear("main", SvcDocument(OFFLINE, start="before", epoch=7), 0.0, retained=True)
    found.hear("x", SvcDocument(OFFLINE, epoch=8), 0.0, retained=True)
    found.hear("main", SvcDocument(STARTING, start="own", epoch=9), 0.0, retained=False)
    assert found.highest_epoch == 8


def test_services_of_an_earlier_version_are_named() -> None:
    found = rivals()
    found.hear("x", SvcDocument(ONLINE), 0.0, retained=True)
    found.hear("y", SvcDocument(ONLINE), 0.0, retained=True)
    found.hear("y", SvcDocument(OFFLINE), 0.0, retained=False)
    assert found.nameless == {"x"}
    assert found.first() is None


def test_one_that_is_gone_is_forgotten() -> None:
    found = rivals()
    found.hear("x", OTHER, 0.0, retained=True)
    first = found.first()
    assert first is not None
    found.forget(first)
    assert found.first() is None
