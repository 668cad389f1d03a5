"""Small numbers for users and connections."""

from pathlib import Path

from broker.record.principals import FOREIGN_USER, Principals
from schema.envelope import Author
from tests.virtual_plant import Plant, play


def test_numbers_are_given_once_and_kept(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        principals = Principals(plant.store, {"user:ann": 4})
        user, connection = principals.of(Author("ann", "hmi", proven=True))
        assert (user.identifier, user.permission) == (4, 3)
        assert (connection.connection_identifier, connection.connection_information) == (5, "ann/hmi")
        assert connection.user_handle == user
        assert principals.of(Author("ann", "plc", proven=True))[1].connection_identifier == 6
        assert list(plant.store.batch.put["principal"].values()) == [("conn:ann/hmi", 5), ("conn:ann/plc", 6)]

    play(tmp_path, scenario)


def test_what_an_arm_did_is_nobodys(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        user, connection = Principals(plant.store, {}).of(Author(FOREIGN_USER, "teach pendant", proven=False))
        assert (user.identifier, connection.connection_identifier) == (0, 0)
        assert connection.connection_information == "teach pendant"
        assert "principal" not in plant.store.batch.put

    play(tmp_path, scenario)
