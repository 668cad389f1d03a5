"""What the terminal shows, as texts: the same facts as on the page. Pure."""

from collections.abc import Sequence
from datetime import datetime

from rich.text import Text

from armbroker.board.board import LinkRow, ServiceRow
from armbroker.board.detail import Detail
from armbroker.board.events import EventLine
from armbroker.board.facts import ArmRow
from armbroker.board.limits import Limit, blocks_of
from armbroker.board.listing import summary
from armbroker.board.values import Value
from armbroker.board.words import digits, in_unit, mode_words, shown

SIGNS = {"online": "●", "offline": "○", "held": "■", "unknown": "?"}
SOFT, GOOD, WARN, BAD, ACCENT = "#96a3b3", "#57c27a", "#e8a33d", "#ff8a80", "#78aeed"
STYLES = {"online": GOOD, "offline": SOFT, "held": f"bold {BAD}", "unknown": SOFT}
LAYERS = {"hard": "#7d8a99", "soft": "#6fa8f5", "application": "#45c4bb", "site": "#c58be6"}
BAR = 20
"""Characters of a bar that is full."""
_WHO, _NAME = 12, 44
_EIGHTHS = " ▏▎▍▌▋▊▉"
COLUMNS = (
    ("arm", 17),
    ("presence", 19),
    ("pending", 12),
    ("drift", 8),
    ("mode", 22),
    ("authority", 18),
    ("override", 12),
    ("model", 12),
)
"""Columns of the table, as `armbroker.board.listing.SORTS` names them, and their widths."""


def clock(at: str) -> str:
    """The local time of day, to the second."""
    try:
        return datetime.fromisoformat(at).astimezone().strftime("%H:%M:%S")
    except ValueError:
        return "--:--:--"


def head_line(rows: Sequence[ArmRow]) -> Text:
    """How many arms there are, and how they are."""
    parts = [Text("armbroker", "bold")]
    for word, count in summary(rows).items():
        if not count and word in {"overrides", "overdue"}:
            continue
        style = (
            f"bold {WARN}" if count and word in {"held", "pending", "differs", "locked", "offline", "overdue"} else ""
        )
        parts.append(Text.assemble((f"{count}", style or "bold"), f" {word}"))
    return Text("  ").join(parts)


def warnings(link: LinkRow, services: Sequence[ServiceRow]) -> Text:
    """Why what is shown may be old; empty where it is not."""
    said = [] if link.up else [f"no connection to the MQTT server, what is shown is old: {link.why}"]
    if link.up and not services:
        said.append("no armbroker service tells of itself below this root")
    said += [
        f"service {service.instance} is {service.state}, what its arms show is old (last seen {clock(service.seen_at)})"
        for service in services
        if not service.online
    ]
    return Text("\n".join(f"▲ {each}" for each in said), f"bold {WARN}")


def columns_line(sort: str, *, down: bool) -> Text:
    """The titles of the columns, with how they are sorted."""
    titles = [f"{name}{(' ▾' if down else ' ▴') if name == sort else ''}".ljust(width) for name, width in COLUMNS]
    return Text("  " + "".join(titles), "bold")


def arm_line(row: ArmRow, *, old: bool) -> Text:
    """One arm in the table."""
    busy = row.presence == "online" and not row.ready
    sign = "◐" if busy else SIGNS.get(row.presence, "?")
    state = "not ready" if busy else row.presence
    cells = {
        "arm": (row.id, "bold"),
        "presence": (f"{sign} {state}{' (old)' if old else ''}", WARN if busy else STYLES.get(row.presence, "")),
        "mode": (f"{mode_words(row.mode) or '-'}{f' > {mode_words(row.asked)}' if row.asked else ''}", ""),
        "authority": (f"{row.authority or '-'}{' locked' if row.lock else ''}", WARN if row.lock else ""),
        "pending": (
            f"{row.pending} {row.waits}" if row.pending else "",
            f"bold {BAD}" if row.waits == "held" else ACCENT,
        ),
        "drift": (f"≠ {row.drift}" if row.drift else "", f"bold {WARN}"),
        "override": _override(row),
        "model": (row.model, ""),
    }
    line = Text("  ", "dim" if old else "")
    for name, width in COLUMNS:
        text, style = cells[name]
        line.append(f"{text[: width - 1]:<{width}}", style)
    return line


def _override(row: ArmRow) -> tuple[str, str]:
    """Until when the first of the changes with an end lasts."""
    if row.overdue:
        return f"{row.overdue} overdue", f"bold {BAD}"
    return (f"to {clock(row.ends)}" if row.overrides else "", ACCENT)


def facts_text(detail: Detail, *, old: bool) -> Text:
    """What an arm is and how it is."""
    row = detail.row
    pairs = [
        ("presence", f"{SIGNS.get(row.presence, '?')} {row.presence}{'' if row.ready else ', not ready'}"),
        ("since", f"{clock(row.since)}{'  (old: the service is away)' if old else ''}"),
        ("why", row.why),
        (
            "mode",
            f"{mode_words(row.mode) or '-'}{f' > {mode_words(row.asked)} asked by {detail.mode_by}' * bool(row.asked)}",
        ),
        ("authority", row.authority),
        ("held by", f"{row.lock}: {detail.lock_why}, until {clock(detail.lock_until)}" if row.lock else ""),
        ("arm", "  ".join(filter(None, (row.model, row.serial, detail.adapter, detail.firmware)))),
        ("recipe", f"{row.recipe}{f', {row.recipe_drift} values are not its' if row.recipe_drift else ''}"),
        ("read", clock(detail.read_at)),
    ]
    text = Text(f"{row.id}\n", "bold")
    for name, value in pairs:
        if value:
            text.append(f"{name:<10}", SOFT).append(f"{value}\n")
    for waiting in detail.pending:
        slot = f" ({mode_words(waiting.slot)})" if waiting.slot else ""
        text.append("pending   ", SOFT).append(waiting.state, "bold")
        text.append(
            f" {waiting.item.replace('_', ' ')}{slot}, rev {waiting.rev}, {clock(waiting.since)} {waiting.why}\n"
        )
    return text


def limits_text(detail: Detail, *, degrees: bool) -> Text:
    """Each limit as a bar between zero and its hard limit, with the layer that binds."""
    mode = mode_words(detail.mode) if detail.mode else "tightest over all modes"
    text = Text.assemble(("limits in mode ", SOFT), (mode, "bold"), ("  (m: another)\n", SOFT))
    for quantities, limits in blocks_of(detail.limits):
        text.append_text(_block(", ".join(quantities).replace("_", " "), limits, degrees))
    if not detail.limits:
        text.append("no limit is known of this arm\n")
    return text


def _block(title: str, limits: Sequence[Limit], degrees: bool) -> Text:
    unit = in_unit(0.0, limits[0].unit, degrees=degrees)[1]
    numbers = [abs(each) for limit in limits for each in (limit.value, limit.hard or 0.0)]
    places = digits(in_unit(max(numbers), limits[0].unit, degrees=degrees)[0])
    text = Text.assemble((f"\n{title}", "bold"), (f"  {unit}\n", SOFT))
    for limit in limits:
        value = in_unit(limit.value, limit.unit, degrees=degrees)[0]
        hard = "" if limit.hard is None else f"{in_unit(limit.hard, limit.unit, degrees=degrees)[0]:.{places}f}"
        style = LAYERS.get(limit.layer, WARN)
        text.append(f"{(limit.joint or 'arm')[:12]:<13}")
        text.append("▕", SOFT).append(bar(limit.share), style).append("▏", SOFT)
        text.append(f"{value:>9.{places}f}").append(f" / {hard:<9}" if hard else " " * 12, SOFT)
        by = "" if limit.layer == "hard" else f" {limit.by[:_WHO]}"
        text.append(limit.layer, style).append(f"{by}\n", SOFT)
    return text


def bar(share: float | None, width: int = BAR) -> str:
    """A bar of a share from 0 to 1; dots where there is none."""
    if share is None:
        return "·" * width
    eighths = round(share * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def values_text(values: Sequence[Value], *, degrees: bool) -> Text:
    """Every value that the arm reports, with what is desired where it is another one."""
    text = Text()
    for value in values:
        name = " ".join(filter(None, (value.item.replace("_", " "), mode_words(value.slot), value.path)))
        unit = in_unit(0.0, value.unit, degrees=degrees)[1]
        text.append(f"{name:<{_NAME}} ", SOFT)
        text.append(f"{shown(value.reported, value.unit, degrees=degrees)} {unit}")
        if value.differs:
            text.append(f"\n  ≠ desired {shown(value.desired, value.unit, degrees=degrees)} {unit}", f"bold {WARN}")
        text.append("\n")
    return text


def event_text(line: EventLine, *, with_arm: bool = True) -> Text:
    """One event on one line."""
    what = mode_words(line.event) if line.event else "Events can be missing here"
    text = Text.assemble((clock(line.at), SOFT), " ")
    if with_arm:
        text.append(f"{line.arm or 'all arms':<14} ", "bold")
    text.append(f"{'✕ ' if line.bad else ''}{what}", f"bold {BAD}" if line.bad else "")
    text.append(f" {mode_words(line.slot)}" if line.slot else "", SOFT)
    if (line.before is not None or line.after is not None) and line.item != "lock":
        text.append(f"  {shown(line.before)} → {shown(line.after)}", ACCENT)
    text.append(f"  {line.about}" if line.about else "", ACCENT)
    rest = " · ".join(filter(None, (line.cause, line.kind, line.by, line.reason)))
    return text.append(f"  {rest}", SOFT)
