import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from armbroker.cli.silence import Silence
from broker.presence.document import SILENT_S
from schema.codecs.times import format_time
from tests.devices.virtual_loop import VirtualLoop

NOW_US = 1_800_000_000_000_000


def online(seen_at_us: int) -> dict[str, Any]:
    return {"state": "online", "seen_at": format_time(seen_at_us), "epoch": 3}


def play(scenario: Callable[[Silence, list[str]], Any]) -> list[str]:
    """What is told in a scenario in virtual time."""
    told: list[str] = []

    async def whole() -> None:
        silence = Silence(told.append, asyncio.get_running_loop().call_later, lambda: NOW_US)
        await scenario(silence, told)
        silence.close()
        await asyncio.sleep(100)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(whole())
    return told


def test_a_service_that_is_not_seen_any_more_is_told_once_and_that_it_is_back() -> None:
    async def scenario(silence: Silence, told: list[str]) -> None:
        silence.see("main", online(NOW_US))
        await asyncio.sleep(SILENT_S - 1)
        silence.see("main", online(NOW_US + 1_000_000))
        await asyncio.sleep(SILENT_S - 1)
        assert told == []
        silence.see("main", online(NOW_US + 1_000_000))  # the same again, as after a new connection
        await asyncio.sleep(2)
        assert len(told) == 1
        await asyncio.sleep(100)
        silence.see("main", online(NOW_US + 2_000_000))

    gone, back = play(scenario)
    assert gone.startswith("service main says online, but was not seen for 30 s (last 2027-01-15T08:00:01")
    assert back == "service main is there again"


def test_an_old_document_is_told_at_once_and_a_half_old_one_at_its_time() -> None:
    async def scenario(silence: Silence, told: list[str]) -> None:
        silence.see("old", online(NOW_US - 31_000_000))
        assert [text[:12] for text in told] == ["service old "]
        silence.see("half", online(NOW_US - 20_000_000))
        await asyncio.sleep(9)
        assert len(told) == 1
        await asyncio.sleep(2)
        assert len(told) == 2

    play(scenario)


@pytest.mark.parametrize("last", [{"state": "offline", "seen_at": "x"}, {"state": "online"}, {"state": 7}, None])
def test_what_says_itself_how_it_is_is_left_be(last: dict[str, Any] | None) -> None:
    async def scenario(silence: Silence, _: list[str]) -> None:
        silence.see("main", online(NOW_US))
        silence.see("main", last)
        await asyncio.sleep(100)

    assert play(scenario) == []


def test_nothing_is_told_after_the_end() -> None:
    async def scenario(silence: Silence, _: list[str]) -> None:
        silence.see("main", online(NOW_US))

    assert play(scenario) == []
