"""Warnings that a reply can carry."""

from typing import NamedTuple


class Words(NamedTuple):
    """What a warning means, and what to do."""

    meaning: str
    remedy: str


WARNINGS: dict[str, Words] = {
    "UNIT_SUSPECT": Words(
        "The values look like radians where degrees are meant.",
        "Say the unit in the request, or convert the values.",
    ),
    "TOOL_MASS_DROPPED": Words(
        "The tool had a mass before; the new one has none.",
        "Send the mass, too, unless the tool has none.",
    ),
    "PAYLOAD_MASS_DROPPED": Words(
        "The payload had a mass before; the new one has none.",
        "Send the mass, too, or a Reset where the arm carries nothing.",
    ),
    "DEVICE_DISCONNECTED": Words(
        "The arm is not connected: values are the last that were read, changes wait for its return.",
        "Wait for the event of the change, or discard it; of values look at reported_at.",
    ),
    "DEVICE_NOT_READY": Words(
        "The arm cannot take the change now: it waits until the arm is ready, or somebody decides.",
        "Make the arm ready, or confirm or discard the change.",
    ),
    "ROUNDED": Words(
        "The arm holds the value rounded to its resolution.",
        "Compare with the value of the result.",
    ),
    "CLAMPED": Words(
        "The arm took less than was asked.",
        "Go on with what the result says, or find out what bounds the arm.",
    ),
    "RESPONSE_TOPIC_IGNORED": Words(
        "The Response Topic is none of the user's reply topics; the default was used.",
        "Name a topic below res/<user>/<conn>/, or none.",
    ),
    "PAYLOAD_OVER_RATING": Words(
        "The payload and the tool exceed the arm's rating.",
        "Check both masses; the arm may refuse to move.",
    ),
    "FROM_PROFILE": Words(
        "The value comes from the profile of the model, not from the arm.",
        "Do not take it for what the arm does; look at the arm where it matters.",
    ),
    "PADDED": Words(
        "White space or NULs after the document were cut.",
        "Send documents without anything behind them.",
    ),
    "STOPPING_DISTANCE": Words(
        "Between soft and hard end a joint has less way than it needs to stop.",
        "Widen the gap, or lower the speed.",
    ),
    "GRAVITY_DIRECTION": Words(
        "The gravity vector points against the present one; its sign may be wrong.",
        "Check how the arm is mounted; send it again with the other sign if it was wrong.",
    ),
    "PAYLOAD_KEPT": Words(
        "The tool changed, the payload that is told from its frame did not.",
        "Send the payload anew, as seen from the new tool.",
    ),
    "OBSERVED": Words(
        "The arm is only observed: nothing was written, the text says what would have come of the request.",
        "Have the authority raised if the service is to write.",
    ),
    "ADVISED": Words(
        "The service only advises on the arm: the request was checked as a dry run, nothing was written.",
        "Set it at the arm, or have the authority raised.",
    ),
    "RESULT_LEFT_OUT": Words(
        "The result is larger than a packet of the MQTT server.",
        "Ask with a Get, in parts.",
    ),
    "OVERRIDE_ENDED": Words(
        "The change ended an override: the text says whose, and until when it was to last.",
        "Tell whose it was; set it again if it has to last.",
    ),
    "WAITS_FOR_IDLE": Words(
        "The change waits until the arm is idle.",
        "Wait for its event; DiscardPending takes it back.",
    ),
    "PROPOSED": Words(
        "A rule asks for a second person: the change waits as a proposal.",
        "Have another user approve it (SteerPlan), or abort it.",
    ),
    "LEFT_OUT": Words(
        "Something of a batch was left out; the result names it.",
        "See in the result what, and set it by itself where it matters.",
    ),
    "ZERO_GAINS": Words(
        "A gain of zero freezes the bounds it scales.",
        "Send gains above zero unless that is meant.",
    ),
}
