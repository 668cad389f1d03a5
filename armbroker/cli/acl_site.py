"""Rules of the site that stand behind ours in the same file: they must not open what ours close. Pure."""

import re

_LINE = re.compile(
    r"(?P<kind>topic|pattern)\s+(?:(?P<access>read|write|readwrite|deny)\s+)?(?P<topic>\S.*)|user\s+(?P<user>\S+)"
)


def site_faults(text: str, root: str) -> list[tuple[int, str]]:
    """What is wrong with lines of the site: number and why, for each."""
    faults, user = list[tuple[int, str]](), ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = _LINE.fullmatch(stripped)
        if found is None:
            faults.append((number, f"{stripped[:80]!r} is no rule: user NAME, or topic or pattern, access, topic"))
        elif found["user"]:
            user = found["user"]
        elif found["kind"] == "topic" and not user:
            faults.append((number, f"{stripped[:80]!r} stands before any user"))
        elif found["access"] != "deny" and overlaps(found["topic"], root):
            faults.append((number, f"{stripped[:80]!r} would open topics below {root}: say so in the settings"))
    return faults


def overlaps(topic_filter: str, root: str) -> bool:
    """Whether a filter, which may have %u and %c in it, matches anything below a root."""
    levels = topic_filter.split("/")
    for level, of_root in zip(levels, root.split("/"), strict=False):
        if level == "#":
            return True
        if level not in {"+", of_root} and "%" not in level:
            return False
    return len(levels) > len(root.split("/"))
