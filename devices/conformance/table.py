"""The behaviours of the suite by name."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from devices.conformance import disturbed, fencing, values
from devices.conformance.rig import Rig


class Behaviour(NamedTuple):
    """One thing that every adapter must do, and what its rig must be able to do for it.

    `needs` names SimFaults that the rig injects, and traits of the arm: `modes`, `reset`, `refused`, `rounded`.
    """

    run: Callable[[Rig], Awaitable[None]]
    needs: tuple[str, ...] = ()

    def why_not(self, name: str, rig: Rig) -> str:
        """Why the arm of a rig cannot have the behaviour; empty if it can."""
        cannot = rig.traits.cannot
        return "; ".join(dict.fromkeys(cannot[need] for need in (name, *self.needs) if need in cannot))


BEHAVIOURS: dict[str, Behaviour] = {
    "connect": Behaviour(values.connects),
    "read all": Behaviour(values.reads_all),
    "write each item": Behaviour(values.writes_each),
    "write what was read": Behaviour(values.takes_back_what_it_reads),
    "rounded": Behaviour(values.rounds_within_its_resolution, ("rounded",)),
    "reset": Behaviour(values.resets, ("reset",)),
    "control modes": Behaviour(values.takes_modes, ("modes",)),
    "refused by the arm": Behaviour(values.refuses_by_itself, ("refused",)),
    "refusal takes nothing": Behaviour(disturbed.refuses_and_keeps, ("refuse",)),
    "foreign change": Behaviour(disturbed.tells_foreign_changes, ("foreign_change",)),
    "timeout, then read-back": Behaviour(disturbed.times_out_and_reads_back, ("lose_answer",)),
    "slow answers": Behaviour(disturbed.waits_for_slow_answers, ("delay",)),
    "hang": Behaviour(disturbed.hangs, ("hang",)),
    "write given up": Behaviour(disturbed.survives_given_up_writes, ("hang",)),
    "garbage": Behaviour(disturbed.sees_garbage, ("garbage",)),
    "away and back": Behaviour(disturbed.goes_away_and_comes_back, ("offline",)),
    "changed while away": Behaviour(disturbed.reads_changes_made_while_away, ("offline", "foreign_change")),
    "link lost in a write": Behaviour(disturbed.loses_the_link_during_a_write, ("hang", "offline")),
    "flapping": Behaviour(disturbed.flaps, ("offline",)),
    "other serial number": Behaviour(disturbed.tells_another_serial_number, ("swap_serial",)),
    "reboot with old config": Behaviour(disturbed.reboots_with_old_values, ("reboot",)),
    "moving or local control": Behaviour(disturbed.moves, ("moving",)),
    "in fault": Behaviour(disturbed.breaks_down, ("fault",)),
    "older command refused": Behaviour(fencing.refuses_older_commands),
    "same command answered": Behaviour(fencing.answers_the_same_command_again, ("foreign_change",)),
    "same reset answered": Behaviour(fencing.answers_the_same_reset_again, ("reset", "foreign_change")),
    "same refusal again": Behaviour(fencing.refuses_the_same_command_again, ("refused",)),
    "restart of the service": Behaviour(fencing.remembers_over_a_restart),
    "shutdown": Behaviour(values.shuts_down),
    "shutdown in a write": Behaviour(disturbed.shuts_down_during_a_write, ("hang",)),
}
"""What an adapter does by itself; what the service makes of it is in `armbroker.conformance`."""
