"""Logs: one JSON object a line on standard error, before it the priority where systemd's journal reads along."""

import asyncio
import logging
import sys
import time
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
_WAITING: list[dict[str, object]] = []


def set_level(level: str) -> None:
    """Log from `level` up (`debug`, `info`, `warning`, `error`) from now on."""
    _THRESHOLD.level = _LEVELS[level.upper()]


def level() -> str:
    """From which level up it is logged."""
    return logging.getLevelName(_THRESHOLD.level).lower()


def info(event: str, fields: dict[str, object], *, soon: bool = True) -> None:
    """Log what happens with every change: the same line as a logger's `info`, for a tenth of its time. Takes `fields`.

    The lines of one turn of the event loop are written together at its end, or before the next line of a logger, with
    the time of the first. Not `soon`: the caller sees to it that `write_waiting` is called in this turn.
    """
    if _THRESHOLD.level > logging.INFO:
        return
    first = not _WAITING
    stamp = format_time(time.time_ns() // 1000) if first else _WAITING[0]["timestamp"]
    fields["event"], fields["level"], fields["timestamp"] = event, "info", stamp
    _WAITING.append(fields)
    if first and soon:
        try:
            asyncio.get_running_loop().call_soon(write_waiting)
        except RuntimeError:
            write_waiting()


def write_waiting() -> None:
    """Write the lines that wait."""
    if _WAITING:
        lines = _encode_lines(_WAITING)
        _WAITING.clear()
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
