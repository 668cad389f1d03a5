"""The behaviours of the service on an adapter, by name."""

from collections.abc import Awaitable, Callable
from functools import partial

from armbroker.conformance import behaviours
from armbroker.conformance.stage import Opened, Stage
from broker.store.store import Store
from devices.conformance import Behaviour, Rig

OnStage = Callable[[Stage], Awaitable[None]]

_ON_STAGE: dict[str, tuple[OnStage, tuple[str, ...]]] = {
    "service: first contact": (behaviours.adopts, ()),
    "service: applied": (behaviours.applies, ()),
    "service: rounded": (behaviours.rounds, ("rounded",)),
    "service: clamped": (behaviours.clamps, ("clamp",)),
    "service: refused": (behaviours.refuses, ("refuse",)),
    "service: overwritten": (behaviours.sees_overwriting, ("foreign_change",)),
    "service: timeout, then read-back": (behaviours.reads_back_after_a_timeout, ("lose_answer",)),
    "service: foreign change": (behaviours.tells_foreign_changes, ("foreign_change",)),
    "service: away and back": (behaviours.survives_absence, ("offline",)),
    "service: moving or local control": (behaviours.waits_while_moving, ("moving",)),
    "service: other serial number": (behaviours.holds_another_arm, ("swap_serial",)),
    "service: reboot with old config": (behaviours.tells_what_a_reboot_lost, ("reboot",)),
    "service: slow arm, others served": (behaviours.keeps_others_going, ("hang",)),
    "service: garbage": (behaviours.outlives_garbage, ("garbage",)),
    "service: flapping": (behaviours.outlives_flapping, ("offline",)),
}


async def _on_stage(run: OnStage, opened: Opened, rig: Rig) -> None:
    async with Stage(rig, opened) as stage:
        await run(stage)


async def _around_stage(opened: Opened, rig: Rig) -> None:
    await behaviours.shuts_down(rig, opened)


def _nothing(store: Store) -> None:
    del store


def service_behaviours(opened: Opened = _nothing) -> dict[str, Behaviour]:
    """The behaviours that run a whole service around the arm of a rig; see `Opened`."""
    table = {name: Behaviour(partial(_on_stage, run, opened), needs) for name, (run, needs) in _ON_STAGE.items()}
    return {**table, "service: shutdown": Behaviour(partial(_around_stage, opened))}
