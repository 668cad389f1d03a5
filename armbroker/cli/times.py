"""Times as people read and write them: local, with their zone."""

import re
from datetime import datetime, timedelta

UNKNOWN = "--:--:--.---"
_AGO = re.compile(r"(\d{1,9})\s*(s|min|h|d)\Z")
_UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?\Z")


def clock(at: object) -> str:
    """The local time of day of an RFC 3339 time, to the millisecond, with its zone: `10:12:04.512+01:00`, UTC is Z."""
    try:
        time = datetime.fromisoformat(str(at))
    except ValueError:
        return UNKNOWN
    return time.astimezone().time().isoformat("milliseconds") + zone(time.astimezone())


def zone(time: datetime) -> str:
    """The zone of a time, `Z` for UTC."""
    return time.isoformat()[-6:].replace("+00:00", "Z")


def length_ms(text: str) -> int:
    """How long a text says, `10min`, in ms.

    Raises:
        ValueError: it says no length.
    """
    if (length := _AGO.match(text)) is None:
        raise ValueError(f"{text[:60]!r} is no length; write for example 90s, 10min, 2h or 3d")
    return int(length[1]) * {"s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}[length[2]]


def ahead(text: str, now: datetime) -> str:
    """The coming time that a text names, as RFC 3339: a local time of day, today or else tomorrow; RFC 3339.

    Raises:
        ValueError: it names none, or one that is past.
    """
    if _TIME_OF_DAY.match(text):
        local = now.astimezone()
        at = datetime.fromisoformat(f"{local.date()}T{text}").astimezone()
        return (at if at > now else (at + timedelta(days=1)).astimezone()).isoformat()
    try:
        time = datetime.fromisoformat(text).astimezone()
    except ValueError:
        wanted = "write for example 22:00 or 2026-11-30T22:00:00+01:00"
        raise ValueError(f"{text[:60]!r} is no time; {wanted}") from None
    if time <= now:
        raise ValueError(f"{text!r} is past")
    return time.isoformat()


def moment(text: str, now: datetime) -> datetime:
    """The time that a text names: `15min`, `2h`, `1d` ago; a local time of day, today or else yesterday; RFC 3339.

    Raises:
        ValueError: it names none, or one that is still to come.
    """
    if (ago := _AGO.match(text)) is not None:
        try:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        except OverflowError:
            raise ValueError(f"{text!r} is longer ago than there are years") from None
    if _TIME_OF_DAY.match(text):
        local = now.astimezone()
        at = datetime.combine(local.date(), datetime.fromisoformat(f"{local.date()}T{text}").time()).astimezone()
        return at if at <= now else (at - timedelta(days=1))
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        wanted = "write for example 15min, 2h, 09:30 or 2026-11-30T09:30:00+01:00"
        raise ValueError(f"{text[:60]!r} is no time; {wanted}") from None
    time = time.astimezone()
    if time > now:
        raise ValueError(f"{text!r} is still to come")
    return time
