"""Room that is kept on the disk."""

from pathlib import Path

import structlog

from broker.store.reserve import FILE, LOOK_EVERY_S, LOW, Reserve

MIB = 1024 * 1024


class Disk:
    """A disk of 64 MiB, with so much free; and a clock that looks whenever it is asked."""

    def __init__(self, free: int) -> None:
        self.free = free
        self.now_s = 0.0

    def look(self, _: Path) -> tuple[int, int]:
        return 64 * MIB, self.free

    def monotonic(self) -> float:
        self.now_s += 2 * LOOK_EVERY_S
        return self.now_s

    def reserve(self, folder: Path, wanted: int = 64 * MIB) -> Reserve:
        return Reserve(folder, wanted, disk=self.look, monotonic=self.monotonic)


def test_at_most_a_part_of_the_disk_is_kept(tmp_path: Path) -> None:
    reserve = Disk(32 * MIB).reserve(tmp_path)
    assert reserve.size == 4 * MIB
    assert (tmp_path / FILE).stat().st_blocks * 512 >= reserve.size
    assert not reserve.look()


def test_it_is_given_up_once_and_kept_again_when_there_is_room(tmp_path: Path) -> None:
    disk = Disk(32 * MIB)
    reserve = disk.reserve(tmp_path)
    disk.free = 0
    assert reserve.look()
    assert reserve.give_up()
    assert not reserve.give_up()
    disk.free = reserve.size
    assert reserve.look()
    disk.free = 2 * reserve.size
    assert not reserve.look()
    assert (tmp_path / FILE).exists()


def test_a_start_on_a_full_disk_gives_it_up(tmp_path: Path) -> None:
    Disk(32 * MIB).reserve(tmp_path)
    reserve = Disk(0).reserve(tmp_path)
    assert not (tmp_path / FILE).exists()
    assert reserve.look()


def test_without_room_for_it_none_is_made(tmp_path: Path) -> None:
    reserve = Disk(5 * MIB).reserve(tmp_path)
    assert not (tmp_path / FILE).exists()
    assert reserve.look()


def test_another_size_is_made_anew(tmp_path: Path) -> None:
    Disk(32 * MIB).reserve(tmp_path)
    Disk(32 * MIB).reserve(tmp_path, MIB)
    assert (tmp_path / FILE).stat().st_size == MIB


def test_none_is_kept_where_none_is_wanted(tmp_path: Path) -> None:
    disk = Disk(32 * MIB)
    reserve = disk.reserve(tmp_path, 0)
    disk.free = 0
    assert not (tmp_path / FILE).exists()
    assert not reserve.look()
    assert not reserve.give_up()


def test_low_room_is_told_once(tmp_path: Path) -> None:
    disk = Disk(63 * MIB)
    reserve = disk.reserve(tmp_path)
    with structlog.testing.capture_logs() as logs:
        reserve.watch()
        disk.free = LOW * reserve.size - 1
        reserve.watch()
        reserve.watch()
        disk.free = 63 * MIB
        reserve.watch()
        disk.free = LOW * reserve.size - 1
        reserve.watch()
    assert [entry["event"] for entry in logs] == ["disk_low", "disk_low"]


def test_a_disk_is_looked_at_a_few_times_a_second_only(tmp_path: Path) -> None:
    disk = Disk(32 * MIB)
    reserve = Reserve(tmp_path, disk=disk.look, monotonic=lambda: 1.0)
    disk.free = 0
    assert not reserve.look()
