"""The terminal's screen: the table, the detail of an arm, events, a filter."""

import asyncio
import contextlib
import itertools
import time
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.filter import NoColor
from textual.widgets import Footer, Input, Static

from armbroker.board.board import Board, Change
from armbroker.board.detail import detail_of
from armbroker.board.listing import SORTS, listed
from armbroker.top.fleet import Fleet
from armbroker.top.fleet_lines import fleet_text, overrides_text
from armbroker.top.lines import columns_line, event_text, facts_text, head_line, limits_text, values_text, warnings

PACE_S = 0.1
"""Between two looks at what is new."""
EVENTS_SHOWN = 200
VIEWS = ("limits", "values", "events")
COUNTDOWN_S = 1.0
"""Between two looks at the time, while a countdown is shown."""


class TopApp(App[None]):
    """Shows a board; `note` tells that it changed."""

    TITLE = "armbroker"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; }
    #head { height: 1; padding: 0 1; }
    #warnings { height: auto; padding: 0 1; }
    #filter { display: none; height: 1; border: none; padding: 0 1; }
    #filter.shown { display: block; }
    #columns { height: 1; padding: 0; }
    #middle { height: 1fr; }
    Fleet { width: 1fr; height: 1fr; overflow-x: hidden; }
    #lines, #detail { text-wrap: nowrap; text-overflow: ellipsis; }
    #left { width: 1fr; }
    #side { width: 82; max-width: 60%; display: none; border-left: solid $primary; padding: 0 1; }
    #side.shown { display: block; }
    #events { height: 20%; min-height: 4; max-height: 10; border-top: solid $primary; padding: 0 1; }
    #events.hidden { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter"),
        Binding("s", "sort", "sort"),
        Binding("S", "turn", "turn", show=False),
        Binding("v", "view", "limits, values, events"),
        Binding("m", "mode", "mode"),
        Binding("u", "units", "deg/rad"),
        Binding("e", "events", "events"),
        Binding("g", "groups", "groups, plans"),
        Binding("escape", "shut", "back"),
        Binding("q", "quit", "end"),
        Binding("ctrl+c", "quit", "end", show=False),
    ]

    def __init__(self, board: Board) -> None:
        super().__init__()
        if self.no_color:
            self._filters.append(NoColor())  # textual's own leaves shades of grey
        self._board = board
        self._fleet = Fleet(board.is_old)
        self._new = True
        self._sorts = itertools.cycle(SORTS)
        self._sort, self._down, self._filter = next(self._sorts), False, ""
        self._arm, self._view, self._degrees = "", VIEWS[0], True
        self._mode: str | None = None
        self._groups = False

    @property
    def arm(self) -> str:
        """The arm that is chosen in the table."""
        return self._fleet.arm

    def compose(self) -> ComposeResult:
        """The parts of the screen."""
        yield Static(id="head")
        yield Static(id="warnings")
        yield Input(placeholder="words that all have to be in the line", id="filter")
        with Horizontal(id="middle"):
            with VerticalScroll(id="left", can_focus=False):
                yield Static(id="columns")
                yield self._fleet
            with VerticalScroll(id="side"):
                yield Static(id="detail")
        with VerticalScroll(id="events", can_focus=False):
            yield Static(id="lines")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look at the board."""
        self._fleet.focus()
        self.set_interval(PACE_S, self._look)
        self.set_interval(COUNTDOWN_S, self._draw_detail)
        self._draw()

    def note(self, _changes: list[Change]) -> None:
        """Take note that the board is another."""
        self._new = True

    def _look(self) -> None:
        if self._new:
            self._draw()

    def _draw(self) -> None:
        self._new = False
        board, rows = self._board, self._board.rows()
        self.query_one("#head", Static).update(head_line(rows))
        told = warnings(board.link, board.services)
        self.query_one("#warnings", Static).update(told)
        self.query_one("#warnings").display = bool(told.plain)
        self.query_one("#columns", Static).update(columns_line(self._sort, down=self._down))
        self._fleet.show(listed(rows, self._filter, self._sort, down=self._down))
        newest = itertools.islice(reversed(board.events), EVENTS_SHOWN)
        self.query_one("#lines", Static).update(Text("\n").join(event_text(line) for line in newest))
        self._draw_detail()

    def _draw_detail(self) -> None:
        facts = self._board.arms.get(self._arm)
        side = self.query_one("#side")
        side.set_class(bool(self._arm) or self._groups, "shown")
        if self._groups:
            board = self._board
            told = fleet_text(board.groups.values(), board.plans.values(), time.time())
            self.query_one("#detail", Static).update(told)
            return
        if not self._arm:
            return
        if facts is None:
            self.query_one("#detail", Static).update(Text(f"{self._arm} is no longer there", "bold"))
            return
        detail = detail_of(facts, self._mode)
        views = "  ".join(f"[{view}]" if view == self._view else f" {view} " for view in VIEWS)
        text = facts_text(detail, old=self._board.is_old(facts.row))
        text.append_text(overrides_text(detail.overrides, time.time(), degrees=self._degrees)).append(
            f"\n{views}\n", "bold"
        )
        match self._view:
            case "limits":
                text.append_text(limits_text(detail, degrees=self._degrees))
            case "values":
                text.append_text(values_text(detail.values, degrees=self._degrees))
            case _:
                own = [
                    event_text(line, with_arm=False) for line in reversed(self._board.events) if line.arm == self._arm
                ]
                text.append_text(Text("\n").join(own or [Text("no event of this arm was seen yet")]))
        self.query_one("#detail", Static).update(text)

    @on(Fleet.Opened)
    def _open(self, message: Fleet.Opened) -> None:
        if isinstance(message, Fleet.Moved) and not self._arm:
            return
        self._groups = False
        if self._arm != message.arm:
            self._arm, self._mode = message.arm, None
            self.query_one("#side").scroll_home(animate=False)
        self._draw_detail()

    @on(Input.Changed, "#filter")
    def _filtered(self, message: Input.Changed) -> None:
        self._filter = message.value
        self._draw()

    @on(Input.Submitted, "#filter")
    def _chosen(self) -> None:
        self._fleet.focus()

    def action_filter(self) -> None:
        """Ask for the words of the filter."""
        field = self.query_one("#filter", Input)
        field.add_class("shown")
        self.screen.set_focus(field)

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = next(self._sorts)
        self._draw()

    def action_turn(self) -> None:
        """Sort the other way round."""
        self._down = not self._down
        self._draw()

    def action_view(self) -> None:
        """Show the next view of the arm."""
        self._view = VIEWS[(VIEWS.index(self._view) + 1) % len(VIEWS)]
        self._draw_detail()

    def action_mode(self) -> None:
        """Show the limits of the next control mode."""
        facts = self._board.arms.get(self._arm)
        if facts is None:
            return
        detail = detail_of(facts, self._mode)
        modes = ["", *detail.modes]
        self._mode = modes[(modes.index(detail.mode) + 1) % len(modes)] if detail.mode in modes else modes[0]
        self._draw_detail()

    def action_units(self) -> None:
        """Turn between degrees and radians."""
        self._degrees = not self._degrees
        self._draw_detail()

    def action_events(self) -> None:
        """Show or hide the events of all arms."""
        self.query_one("#events").toggle_class("hidden")

    def action_groups(self) -> None:
        """Show groups and plans in the place of an arm, or no longer."""
        self._groups = not self._groups
        self._draw_detail()

    def action_shut(self) -> None:
        """Close what is open: the filter, then the detail."""
        field = self.query_one("#filter", Input)
        if field.has_class("shown"):
            field.value = ""
            field.remove_class("shown")
        else:
            self._arm, self._groups = "", False
            self._draw_detail()
        self._fleet.focus()


async def run_with(app: TopApp, feeding: asyncio.Task[None], *, headless: bool = False) -> None:
    """Show until somebody ends it, or the feed has ended; `headless` without a terminal.

    Raises:
        NoServerError: the feed's connection ended for good.
    """
    feeding.add_done_callback(lambda _: app.exit())
    try:
        await app.run_async(headless=headless)
    finally:
        feeding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await feeding
