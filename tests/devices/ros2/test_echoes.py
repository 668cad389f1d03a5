from devices.ros2.echoes import ECHO_S, Echoes
from devices.ros2.parameters import Held

OLD, NEW, ELSE = Held("double", 1.0), Held("double", 2.0), Held("double", 3.0)


def test_what_was_never_set_is_foreign() -> None:
    assert not Echoes().are({"a": NEW}, 0.0)


def test_an_event_before_the_answer_is_ours_whatever_the_node_took() -> None:
    echoes = Echoes()
    echoes.begin({"a": NEW, "b": NEW})
    assert echoes.are({"a": ELSE}, 0.0)
    assert not echoes.are({"b": NEW, "c": NEW}, 0.0)
    echoes.answered({"a": ELSE, "b": NEW}, 0.0)
    assert not echoes.are({"a": ELSE}, 0.1)
    assert echoes.are({"b": NEW}, 0.1)


def test_an_event_after_the_answer_is_ours_once_if_it_has_what_the_node_took() -> None:
    echoes = Echoes()
    echoes.begin({"a": NEW})
    echoes.answered({"a": ELSE}, 10.0)
    assert not echoes.are({"a": NEW}, 10.1)
    assert echoes.are({"a": ELSE}, 10.2)
    assert not echoes.are({"a": ELSE}, 10.3)


def test_an_event_that_comes_too_late_is_foreign() -> None:
    echoes = Echoes()
    echoes.begin({"a": NEW})
    echoes.answered({"a": NEW}, 10.0)
    assert not echoes.are({"a": NEW}, 10.0 + ECHO_S)


def test_nothing_of_a_refused_set_is_ours() -> None:
    echoes = Echoes()
    echoes.begin({"a": NEW})
    echoes.refused()
    assert not echoes.are({"a": NEW}, 0.0)


def test_a_set_that_nobody_answered_is_ours_whenever_it_shows() -> None:
    echoes = Echoes()
    echoes.begin({"a": NEW, "b": NEW})
    echoes.unanswered()
    assert not echoes.are({"a": ELSE}, 1e6)
    assert echoes.are({"a": NEW, "b": NEW}, 1e6)
    echoes.begin({"c": NEW})
    echoes.refused()
    assert not echoes.are({"c": NEW}, 1e6)


def test_a_deleted_parameter_is_foreign_unless_expected() -> None:
    echoes = Echoes()
    echoes.begin({"a": NEW})
    echoes.answered({"a": NEW}, 0.0)
    assert not echoes.are({"a": None}, 0.1)
