"""Logs: one JSON object a line on standard error."""

import logging
import sys
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, WrappedLogger

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
        """See `TextIO.write`."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """See `TextIO.flush`."""
        sys.stderr.flush()


_THRESHOLD = _Threshold()
_PROCESSORS: list[structlog.typing.Processor] = [
    _THRESHOLD,
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    structlog.processors.JSONRenderer(),
]


def set_level(level: str) -> None:
    """Log from `level` up (`debug`, `info`, `warning`, `error`) from now on."""
    _THRESHOLD.level = _LEVELS[level.upper()]


def level() -> str:
    """From which level up it is logged."""
    return logging.getLevelName(_THRESHOLD.level).lower()


def set_up(level: str) -> None:
    """Log from `level` up (`debug`, `info`, `warning`, `error`)."""
    set_level(level)
    structlog.configure(
        processors=_PROCESSORS,
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _StandardError())),
        cache_logger_on_first_use=True,
    )
