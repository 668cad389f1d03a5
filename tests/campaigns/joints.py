"""Limits of single joints for a time or for good, and what is to be in force of them, told from events alone."""

import random

from tests.campaigns.people import Document

JOINTS = (0, 1, 2)
SET_LIMIT, CHANGED = "SetJointLimit", "JOINT_LIMITS_CHANGED"
KEY, FIELD = "joint_limits", "max_velocity"
SAFETY, PARAMETERS = "SetJointSafety", "SetJointParameters"


def velocity(dice: random.Random) -> float:
    """One that no other request asks for."""
    return round(dice.uniform(0.05, 0.6), 9)


def asked(dice: random.Random) -> tuple[str, Document]:
    """A change of a joint: mostly of its speed, now and then a record of JointSafety or a ROS parameter."""
    joint, kind = f"joint_{dice.choice(JOINTS) + 1}", dice.random()
    if kind < 0.7:
        return SET_LIMIT, {"joint": joint, "update": {FIELD: velocity(dice)}}
    if kind < 0.85:
        gains = {"soft_lower_limit": -1.0, "soft_upper_limit": 1.0, "k_position": 4.0, "k_velocity": velocity(dice)}
        return SAFETY, {"joints": {joint: gains}}
    return PARAMETERS, {"parameters": {f"joint_limits.{joint}.max_velocity": velocity(dice)}}


def speed(limits: Document, joint: int) -> float:
    """The bound of a joint in a value of joint limits; none is infinite."""
    values = limits.get(FIELD, {}).get("values", ())
    number = values[joint] if values else None
    return float("inf") if number is None else float(number)


class JointChecker:
    """What the speeds of the joints of an arm are to be, told from its events in the order of their `seq`."""

    def __init__(self) -> None:
        self.live: dict[int, dict[int, float]] = {joint: {} for joint in JOINTS}
        self.ground: dict[int, float] = {}

    def take(self, event: Document) -> None:
        """One event."""
        if event["event"] == "OVERRIDE_ENDED" and KEY in event["details"]["paths"]:
            for joint, live in self.live.items():
                given = live.pop(event["rev"], None)
                if event["cause"] == "kept" and given is not None:
                    self._settle(joint, event["rev"], given)
        elif event["event"] == CHANGED and event["cause"] != "returned":
            change = event["change"]
            for joint in JOINTS:
                before, after = speed(change["before"], joint), speed(change["after"], joint)
                if before != after and "until" in event:
                    if not self.live[joint]:
                        self.ground[joint] = before
                    self.live[joint][event["rev"]] = after
                elif before != after:
                    self._settle(joint, event["rev"], after)

    def _settle(self, joint: int, rev: int, value: float) -> None:
        self.ground[joint] = value
        self.live[joint] = {newer: one for newer, one in self.live[joint].items() if newer > rev}
