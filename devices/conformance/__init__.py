"""What every adapter must do, as functions that need nothing but a rig: one arm that can be told to misbehave."""

from devices.conformance.rig import CannotInjectError, Example, FailedError, Heard, Refusal, Rig, Traits
from devices.conformance.run import Result, Verdict, run_all, run_one
from devices.conformance.table import BEHAVIOURS, Behaviour

__all__ = [
    "BEHAVIOURS",
    "Behaviour",
    "CannotInjectError",
    "Example",
    "FailedError",
    "Heard",
    "Refusal",
    "Result",
    "Rig",
    "Traits",
    "Verdict",
    "run_all",
    "run_one",
]
