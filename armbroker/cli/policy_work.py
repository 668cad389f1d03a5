"""What `armbroker policy` does."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from armbroker.cli.exits import Exit
from broker.arms.batch_job import old_outcomes, unpack_batch, unpack_values
from broker.clock import Clock
from broker.settings import Settings, SettingsError, load
from broker.settings.policy_file import compiled, groups_of, policy_doubts, read_policy, service_faults
from broker.store.past_changes import past_changes
from broker.store.rows import PastChange, Terms
from broker.store.store import FILE, UNREADABLE
from handlers.batch.outcomes import WHOLE_KEY
from handlers.items.settling import equal
from handlers.policy.needs import Need, need_of
from handlers.policy.rights import NEEDS, Asked, PolicyRight
from handlers.policy.rules import Policy
from handlers.policy.verdict import Facts, Proposed, Refused, of_all
from handlers.policy.words import refusal_of
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Slot
from schema.codecs.json_codec import unpack
from schema.codecs.times import format_time
from schema.items import ITEMS, slot_path
from schema.messages import Message

DAY_US = 86_400_000_000
REVERTED = "reverted"
"""Entries that tell what became of others."""
RESETS = ("Reset", "RestoreFactory")
"""How names of methods begin that go back to what the arm came with."""


class _Found(NamedTuple):
    """What a policy would have said of a past change."""

    word: str
    why: str


def checked(file: Path, config: Path | None) -> Exit:
    """Say everything that is wrong with a file, and what is hardly meant."""
    try:
        read, settings = read_policy(file), None if config is None else load(config)
        if settings is not None and (faults := list(service_faults(read, settings.mqtt.identity))):
            raise read.places.error(faults)
    except SettingsError as error:
        return _wrong(error)
    if settings is None and any(rule.arms is not None or rule.groups is not None for rule in read.written.rule):
        sys.stderr.write("armbroker policy: rules name arms or groups: --config FLEET tells whether there are such\n")
    if settings is not None:
        arms = [arm.id for arm in settings.arm]
        for doubt in policy_doubts(read, arms, groups_of(settings)):
            sys.stdout.write(f"doubtful: {doubt}\n")
    sys.stdout.write(f"ok: {len(read.written.rule)} rules, digest {read.digest}\n")
    return Exit.OK


def replayed(file: Path, store: Path | None, config: Path | None, days: int) -> Exit:
    """Say which past changes a file would have refused, or made proposals."""
    if store is None and config is None:
        return _wrong(SettingsError("--store DIR or --config FLEET is needed"))
    try:
        read, settings = read_policy(file), Settings() if config is None else load(config)
    except SettingsError as error:
        return _wrong(error)
    if config is None and any(rule.groups is not None for rule in read.written.rule):
        sys.stderr.write("armbroker policy: rules name groups: without --config they have no arms\n")
    policy = compiled(read, groups_of(settings))
    directory = settings.data_dir if store is None else store
    counts: Counter[str] = Counter()
    try:
        for change in past_changes(directory / FILE, Clock().now_us() - days * DAY_US):
            if change is None:
                counts["unreadable"] += 1
            elif _counts(change):
                found = _judged(policy, change)
                counts[found.word] += 1
                if found.why:
                    sys.stdout.write(f"{_line(change)}: {found.word}: {found.why}\n")
    except UNREADABLE as error:
        return _wrong(error)
    told = {word: counts[word] for word in ("pass", "proposal", "refused", "unreadable")}
    sys.stdout.write(
        f"{counts.total()} changes of {days} days: {', '.join(f'{n} {word}' for word, n in told.items())}\n"
    )
    return Exit.REFUSED if counts["proposal"] or counts["refused"] else Exit.OK


def _counts(change: PastChange) -> bool:
    """Whether the policy would have been asked: not for what arms and service do, nor for what undoes."""
    return not change.user.startswith("@") and change.outcome != REVERTED and change.method in NEEDS


def _judged(policy: Policy, change: PastChange) -> _Found:
    terms = change.terms or Terms()
    lasts_us = terms.until_us - change.at_us if terms.until_us else 0
    facts = Facts(change.user, change.at_us, lasts_us=lasts_us, agreed=bool(terms.approved_by))
    verdict, need = of_all(policy, _needs(change, terms), facts)
    if need is None:
        return _Found("pass", "")
    if isinstance(verdict, Refused):
        why = refusal_of(change.user, need, verdict, change.method).message
        return _Found("refused", why.removesuffix(f" {NOTHING_CHANGED}"))
    if isinstance(verdict, Proposed):
        return _Found("proposal", f'rule "{verdict.rule}" needs a second person')
    raise TypeError(type(verdict).__name__)


def _needs(change: PastChange, terms: Terms) -> tuple[Need, ...]:
    asked = NEEDS[change.method]
    if isinstance(asked, PolicyRight):
        return (Need(asked, change.arm),)
    return tuple(_of_slots(change, terms)) if asked is Asked.BY_DIRECTION else ()


def _of_slots(change: PastChange, terms: Terms) -> Iterator[Need]:
    resets = change.method.startswith(RESETS)
    for slot, before, after in _slots(change):
        references = [] if before is None else [before]
        if terms.ground is not None and slot[0] == change.key:
            references.append(unpack(terms.ground, ITEMS[slot[0]].record))
        # what a Reset of an item of the arm brought was not known when it was asked for
        value = None if resets and not ITEMS[slot[0]].kept_by_service else after
        unchanged = False
        if change.key == WHOLE_KEY and not resets and value is not None and before is not None:
            unchanged = equal(slot[0], value, before, 0.0)
        yield need_of(change.arm, slot, value, references, resets=resets, unchanged=unchanged)


def _slots(change: PastChange) -> Iterator[tuple[Slot, Message | None, Message | None]]:
    """The slots of a change, what each had before, and what was wanted of it."""
    if change.key != WHOLE_KEY:
        if (item := ITEMS.get(change.key)) is not None:
            before, after = (
                None if blob is None else unpack(blob, item.record) for blob in (change.before, change.after)
            )
            yield (change.key, change.mode), before, after
        return
    told = {} if old_outcomes(change.after) is not None else unpack_batch(change.after).values()
    before_of: Mapping[Slot, Message] = unpack_values(change.before)
    for slot in dict.fromkeys((*before_of, *told)):
        yield slot, before_of.get(slot), told.get(slot)


def _line(change: PastChange) -> str:
    what = change.method if change.key not in ITEMS else f"{change.method} {slot_path((change.key, change.mode))}"
    return f"{format_time(change.at_us)} {change.arm} rev {change.rev} {change.user} {what}"


def _wrong(error: object) -> Exit:
    lines: Iterable[str] = str(error).splitlines()
    sys.stderr.write("".join(f"armbroker policy: {line}\n" for line in lines))
    return Exit.USAGE
