"""Logs: one JSON object a line on standard error, before it the priority where systemd's journal reads along."""

import logging
import sys
import time
from collections.abc import Sequence
from typing import TextIO, cast

import msgspec
import structlog
from structlog.typing import EventDict, WrappedLogger

from schema.codecs.times import format_time

_LEVELS = {**logging.getLevelNamesMapping(), "EXCEPTION": logging.ERROR}


class _Threshold:
    """Drops what is below `level`; loggers keep it, so that it can be set while they are in use."""

    def __init__(self) -> None:
        self.level = logging.DEBUG

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Pass an event on."""
        del logger
        if _LEVELS[method.upper()] < self.level:
            raise structlog.DropEvent
        return event


class _StandardError:
    """Standard error as it is when something is logged: loggers keep it, the process may exchange it."""

    def write(self, text: str) -> int:
        """See `TextIO.write`; what waits goes before it."""
        write_waiting()
        return sys.stderr.write(text)

    def flush(self) -> None:
        """See `TextIO.flush`."""
        sys.stderr.flush()


class _Lines:
    """Writes an event as a line of JSON, behind its priority as syslog numbers it if that is `wanted`."""

    def __init__(self) -> None:
        self.wanted = False

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> str:
        """Write an event as its line."""
        line = _RENDER(logger, method, event)
        text = line if isinstance(line, str) else line.decode()
        return f"<{_PRIORITIES[_LEVELS[method.upper()]]}>{text}" if self.wanted else text


_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
_RENDER = structlog.processors.JSONRenderer()
_THRESHOLD, _LINES = _Threshold(), _Lines()
_PROCESSORS: list[structlog.typing.Processor] = [
    _THRESHOLD,
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    _LINES,
]
_encode_lines = msgspec.json.Encoder().encode_lines


class _Waiting:
    """Lines that are written at the end of the turn."""

    def __init__(self) -> None:
        self.lines: list[object] = []
        self.stamp = ""


_WAITING = _Waiting()


def set_level(level: str) -> None:
    """Log from `level` up (`debug`, `info`, `warning`, `error`) from now on."""
    _THRESHOLD.level = _LEVELS[level.upper()]


def level() -> str:
    """From which level up it is logged."""
    return logging.getLevelName(_THRESHOLD.level).lower()


def moment() -> str:
    """The time that lines have which wait from now on, that of the first; empty where `info` is not logged."""
    if _THRESHOLD.level > logging.INFO:
        return ""
    if not _WAITING.lines:
        _WAITING.stamp = format_time(time.time_ns() // 1000)
    return _WAITING.stamp


def put(lines: Sequence[object]) -> None:
    """Log what happens with every change: the same lines as a logger's `info`, for a tenth of their time.

    Each has `event`, `level` and `timestamp` (see `moment`). They are written together, before the next line of a
    logger; the caller sees to it that `write_waiting` is called in this turn of the event loop.
    """
    _WAITING.lines += lines


def write_waiting() -> None:
    """Write the lines that wait."""
    waiting = _WAITING.lines
    if waiting:
        lines = _encode_lines(waiting)
        waiting.clear()
        if _LINES.wanted:
            lines = b"".join([b"<6>" + line for line in lines.splitlines(keepends=True)])
        sys.stderr.write(lines.decode())
        sys.stderr.flush()


def set_up(level: str, *, priorities: bool = False) -> None:
    """Log from `level` up (`debug`, `info`, `warning`, `error`), each line with its priority where that is wanted."""
    set_level(level)
    _LINES.wanted = priorities
    structlog.configure(
        processors=_PROCESSORS,
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _StandardError())),
        cache_logger_on_first_use=True,
    )
