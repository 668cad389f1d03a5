"""An event loop whose time jumps to the next timer whenever nothing else is ready."""

import asyncio
import selectors
from collections.abc import Callable

_REAL_WAIT_S = 0.001


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits for a timer: adds the time it would have waited to `now`; but waits in earnest while `held`."""

    now = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.held: Callable[[], bool] = lambda: False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        if self.held():
            return super().select(_REAL_WAIT_S)
        ready = super().select(0)
        if not ready:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at time 0; hours pass at once, except while `held()` says that something real is under way."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def hold_while(self, held: Callable[[], bool]) -> None:
        """Let time stand while `held()` is true."""
        self._jumping.held = held

    def time(self) -> float:
        return self._jumping.now
