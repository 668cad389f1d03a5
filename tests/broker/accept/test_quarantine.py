"""Messages that may have ended the process."""

from pathlib import Path

from broker.accept.quarantine import META_KEY, SUSPECTS_MOST, Quarantine
from broker.link.mqtt_link import InboundMessage
from tests.virtual_plant import Plant, play


def message(payload: bytes, *, dup: bool = True) -> InboundMessage:
    """A message as delivered."""
    return InboundMessage(
        topic="armbroker/v1/req/u/c/r1/GetGravityVector", payload=payload, retain=False, dup=dup, content_type="",
        response_topic="", correlation=b"", expiry_s=None, handle=None,
    )  # fmt: skip


def stored(plant: Plant) -> str:
    """What the store holds of suspects."""
    found: dict[str, str] = dict(plant.store._connection.execute("SELECT key, value FROM meta"))
    return found.get(META_KEY, "")


def test_only_what_came_before_an_unclean_end_is_suspected(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        ledger = plant.service._ledger
        assert Quarantine(ledger, "", clean=False).suspects(message(b"a"))
        assert not Quarantine(ledger, "", clean=False).suspects(message(b"a", dup=False))
        assert not Quarantine(ledger, "", clean=True).suspects(message(b"a"))

    play(tmp_path, scenario)


def test_the_third_start_on_a_message_is_one_too_many(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        ledger, bad, good = plant.service._ledger, message(b"bad"), message(b"good")
        for expected in (True, True, False):
            quarantine = Quarantine(ledger, stored(plant), clean=False)
            assert await quarantine.begin(good)
            quarantine.passed(good)
            assert await quarantine.begin(bad) is expected
        quarantine.passed(bad)
        await ledger.store.committed()
        assert stored(plant) == "{}"
        assert await Quarantine(ledger, stored(plant), clean=False).begin(bad)

    play(tmp_path, scenario)


def test_a_clean_end_clears_everybody(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        ledger, bad = plant.service._ledger, message(b"bad")
        for _ in range(3):
            await Quarantine(ledger, stored(plant), clean=False).begin(bad)
        assert await Quarantine(ledger, stored(plant), clean=True).begin(bad)

    play(tmp_path, scenario)


def test_the_record_is_bounded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        quarantine = Quarantine(plant.service._ledger, "", clean=False)
        quarantine.starts = {str(number): 1 for number in range(SUSPECTS_MOST)}
        await quarantine.begin(message(b"one more"))
        assert len(quarantine.starts) == SUSPECTS_MOST
        assert "0" not in quarantine.starts

    play(tmp_path, scenario)
