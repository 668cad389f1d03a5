"""Warnings that a reply can carry."""

WARNINGS: dict[str, str] = {
    "UNIT_SUSPECT": "The values look like radians where degrees are meant.",
    "TOOL_MASS_DROPPED": "The tool had a mass before; the new one has none.",
    "PAYLOAD_MASS_DROPPED": "The payload had a mass before; the new one has none; a Reset says it plainly.",
    "DEVICE_DISCONNECTED": "The arm is not connected: values are the last that were read, changes wait for its return.",
    "DEVICE_NOT_READY": "The arm cannot take the change now: it waits until the arm is ready, or somebody decides.",
    "ROUNDED": "The arm holds the value rounded to its resolution.",
    "CLAMPED": "The arm took less than was asked.",
    "RESPONSE_TOPIC_IGNORED": "The Response Topic is none of the user's reply topics; the default was used.",
    "PAYLOAD_OVER_RATING": "The payload and the tool exceed the arm's rating.",
    "FROM_PROFILE": "The value comes from the profile of the model, not from the arm.",
    "PADDED": "White space or NULs after the document were cut.",
    "STOPPING_DISTANCE": "Between soft and hard end a joint has less way than it needs to stop.",
    "GRAVITY_DIRECTION": "The gravity vector points against the present one; its sign may be wrong.",
    "PAYLOAD_KEPT": "The tool changed, the payload that is told from its frame did not.",
    "OBSERVED": "The arm is only observed: nothing was written, the text says what would have come of the request.",
    "ADVISED": "The service only advises on the arm: the request was checked as a dry run, nothing was written.",
    "RESULT_LEFT_OUT": "The result is larger than a packet of the MQTT server: ask for it with a Get, in parts.",
    "ZERO_GAINS": "A gain of zero freezes the bounds it scales.",
}
