"""Groups, plans and changes with an end as texts. Pure; `now_s` is seconds since 1970."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from armbroker.board.fleet import Attention, GroupRow, PlanRow
from armbroker.board.overrides import OVERDUE, Override, countdown
from armbroker.board.words import shown
from armbroker.top.lines import ACCENT, BAD, GOOD, SOFT, WARN, bar

_SHOWN = 6
"""Arms that a line names at most."""


def overrides_text(overrides: Sequence[Override], now_s: float, *, degrees: bool) -> Text:
    """Each change with an end on two lines: how long and what, then by whom, and what counts again."""
    text = Text()
    for each in overrides:
        style = f"bold {BAD}" if each.state == OVERDUE else ACCENT
        text.append("override  ", SOFT).append(f"{each.state} ", style)
        text.append(f"{countdown(each.until, now_s)} left: ", "bold")
        text.append(", ".join(path.replace("_", " ") for path in each.paths)).append("\n")
        text.append(f"          {each.direction}, rev {each.rev}, by {each.by}", SOFT)
        below = ", ".join(f"{shown(value, degrees=degrees)}" for value in each.ground.values())
        text.append(f", then {below}" * bool(below), SOFT).append("\n")
    return text


def fleet_text(groups: Iterable[GroupRow], plans: Iterable[PlanRow], now_s: float) -> Text:
    """Plans, the newest first, then groups by name."""
    text = Text("Plans\n", "bold")
    lines = [_plan(each, now_s) for each in sorted(plans, key=lambda one: -one.plan)]
    text.append_text(Text("").join(lines or [Text("none is told of\n", SOFT)]))
    text.append("\nGroups\n", "bold")
    lines = [_group(each, now_s) for each in sorted(groups, key=lambda one: one.name)]
    return text.append_text(Text("").join(lines or [Text("none is told of\n", SOFT)]))


def _plan(plan: PlanRow, now_s: float) -> Text:
    share = plan.ended / plan.total if plan.total else None
    style = f"bold {BAD}" if plan.bad else ACCENT if plan.live else GOOD
    text = Text.assemble((f"{plan.plan:>6} ", "bold"), (f"{plan.outcome or plan.state:<11}", style))
    text.append(f"{plan.method} of {plan.target}, by {plan.by}")
    text.append(f", approved by {plan.approved_by}" * bool(plan.approved_by), SOFT).append("\n")
    wave = f"  wave {plan.wave} of {plan.waves - 1}" if plan.waves else ""
    states = "  ".join(f"{count} {state}" for state, count in plan.counts.items())
    text.append("       ▕", SOFT).append(bar(share), style).append("▏ ", SOFT)
    text.append(f"{plan.ended} of {plan.total}{wave}  {states}\n")
    if plan.state == "proposed" and plan.expires:
        text.append(f"       waits for a second person, {countdown(plan.expires, now_s)} left\n", WARN)
    if plan.why:
        text.append(f"       {plan.why}\n", WARN)
    return text.append_text(_attention(plan.failed))


def _group(group: GroupRow, now_s: float) -> Text:
    text = Text.assemble((f"@{group.name:<20} ", "bold"), f"{group.online} of {group.arms} online")
    for word in ("held", "faults", "overdue", "differs", "locked", "pending", "overrides"):
        count = getattr(group, word)
        if count:
            text.append(f"  {count} {word}", f"bold {BAD if word in {'held', 'faults', 'overdue'} else WARN}")
    if group.next_end:
        text.append(f"  next end in {countdown(group.next_end, now_s)}", SOFT)
    text.append("\n")
    if group.recipes:
        drift = f", {group.recipe_drift} not as it says" if group.recipe_drift else ""
        said = ", ".join(f"{name} on {count}" for name, count in group.recipes.items())
        text.append(f"       {said}{drift}\n", SOFT)
    return text.append_text(_attention(group.attention))


def _attention(found: Sequence[Attention]) -> Text:
    text = Text()
    for each in found[:_SHOWN]:
        text.append(f"       {each.arm}: {each.why}\n", WARN)
    if len(found) > _SHOWN:
        text.append(f"       and {len(found) - _SHOWN} more\n", SOFT)
    return text
