"""An event loop whose time jumps to the next timer whenever nothing else is ready."""

import asyncio
import selectors


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits for a timer: adds the time it would have waited to `now`."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout if timeout is None else 0)
        if timeout is not None and timeout > 0 and not ready:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at time 0; hours pass at once."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now
