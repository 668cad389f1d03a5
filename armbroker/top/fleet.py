"""The table of arms as a widget: only the lines in sight are made, however many arms there are."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from armbroker.board.facts import ArmRow
from armbroker.top.lines import COLUMNS, arm_line

WIDTH = 2 + sum(width for _, width in COLUMNS)


class Fleet(ScrollView, can_focus=True):
    """Lines of arms with one of them chosen; `is_old` says which of them may no longer hold."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "go(-1)", "up", show=False),
        Binding("down", "go(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "end(0)", "first", show=False),
        Binding("end", "end(-1)", "last", show=False),
        Binding("enter", "open", "detail"),
    ]

    class Opened(Message):
        """An arm was opened."""

        def __init__(self, arm: str) -> None:
            self.arm = arm
            super().__init__()

    class Moved(Opened):
        """Another arm was chosen."""

    def __init__(self, is_old: Callable[[ArmRow], bool]) -> None:
        super().__init__()
        self._is_old = is_old
        self._rows: Sequence[ArmRow] = ()
        self._at = 0

    @property
    def arm(self) -> str:
        """The arm that is chosen; empty where there is none."""
        return self._rows[self._at].id if self._rows else ""

    def show(self, rows: Sequence[ArmRow]) -> None:
        """Show these lines; the arm that was chosen stays so, where it is still there."""
        chosen = self.arm
        self._rows = rows
        places = {row.id: place for place, row in enumerate(rows)}
        self._at = places.get(chosen, min(self._at, max(0, len(rows) - 1)))
        self.virtual_size = Size(WIDTH, len(rows))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line at a height of the widget."""
        place = y + self.scroll_offset.y
        if place >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        row = self._rows[place]
        line = arm_line(row, old=self._is_old(row))
        if place == self._at:
            line = Text(f"▶ {line.plain[2:]}")
            line.pad_right(max(0, self.size.width - line.cell_len))
            line.stylize("bold reverse" if self.has_focus else "bold")
        strip = Strip(Segment.apply_style(line.render(self.app.console), self.rich_style))
        return strip.crop_extend(self.scroll_offset.x, self.scroll_offset.x + self.size.width, self.rich_style)

    def action_go(self, steps: int) -> None:
        """Choose the arm so many lines further down."""
        self._choose(self._at + steps)

    def action_page(self, pages: int) -> None:
        """Choose the arm so many pages further down."""
        self._choose(self._at + pages * max(1, self.size.height - 1))

    def action_end(self, place: int) -> None:
        """Choose the first (0) or the last (-1)."""
        self._choose(place if place >= 0 else len(self._rows))

    def action_open(self) -> None:
        """Open the arm that is chosen."""
        if self.arm:
            self.post_message(self.Opened(self.arm))

    def _choose(self, place: int) -> None:
        self._at = max(0, min(len(self._rows) - 1, place))
        self.scroll_to_region(Region(0, self._at, 1, 1), animate=False, x_axis=False)
        self.refresh()
        self.post_message(self.Moved(self.arm))
