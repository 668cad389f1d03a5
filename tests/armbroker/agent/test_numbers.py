"""Session numbers grow, whatever happens to the process."""

from pathlib import Path

import pytest

from armbroker.agent.numbers import BLOCK, FILE, SessionNumbers


def test_numbers_grow_and_are_written_ahead(tmp_path: Path) -> None:
    numbers = SessionNumbers(tmp_path / "new")
    given = [numbers.next() for _ in range(2 * BLOCK)]
    assert given == list(range(1, 2 * BLOCK + 1))
    assert int((tmp_path / "new" / FILE).read_text()) > given[-1]
    numbers.close()


def test_a_restart_goes_on_above_all_that_were_given(tmp_path: Path) -> None:
    last = 0
    for _ in range(3):
        numbers = SessionNumbers(tmp_path)
        first = numbers.next()
        assert first > last
        last = [first, *(numbers.next() for _ in range(5))][-1]
        numbers.close()
        numbers.close()


def test_a_directory_is_of_one_process(tmp_path: Path) -> None:
    numbers = SessionNumbers(tmp_path)
    with pytest.raises(BlockingIOError):
        SessionNumbers(tmp_path)
    numbers.close()


def test_a_file_without_a_number_is_no_beginning(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("lost")
    with pytest.raises(ValueError, match="lost"):
        SessionNumbers(tmp_path)
