"""What `[[arm]] groups` may say."""

from collections.abc import Iterator

from broker.settings.client_checks import NAME
from broker.settings.groups import EVERYBODY
from broker.settings.places import Fault, KeyPath
from broker.settings.records import Settings
from broker.topics import is_name

OF_AN_ARM_MOST, GROUPS_MOST = 16, 1_000


def group_faults(settings: Settings) -> Iterator[Fault]:
    """Groups that cannot be: as an address each has to be one alone, whatever the case of its letters."""
    known = {EVERYBODY: EVERYBODY}
    for index, arm in enumerate(settings.arm):
        within: KeyPath = ("arm", index, "groups")
        if len(arm.groups) > OF_AN_ARM_MOST:
            yield Fault(within, f"arm {arm.id}: groups: {len(arm.groups)} of them, at most {OF_AN_ARM_MOST}")
        for place, name in enumerate(arm.groups):
            path: KeyPath = (*within, place)
            where = f"arm {arm.id}: groups: {name[:80]!r}"
            if not is_name(name):
                yield Fault(path, f"{where} is no name of a group {NAME}")
            elif name in arm.groups[:place]:
                yield Fault(path, f"{where} stands twice")
            elif name.lower() == EVERYBODY:
                yield Fault(path, f"{where} is kept for the group of all arms")
            elif (other := known.setdefault(name.lower(), name)) != name:
                yield Fault(path, f"{where} and {other!r} differ only in case")
    if len(known) > GROUPS_MOST + 1:
        yield Fault(("arm",), f"groups: {len(known) - 1} in all, at most {GROUPS_MOST}")
