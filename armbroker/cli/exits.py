"""Exit codes."""

import enum


class Exit(enum.IntEnum):
    """How a command ended."""

    OK = 0
    REFUSED = 1
    """The service answered `ok: false`; or a step of the demo did not give what it should."""
    USAGE = 2
    """The command cannot be carried out as it was given."""
    NO_ANSWER = 3
    """No reply within the timeout: the outcome is unknown."""
    NO_SERVER = 4
    """No MQTT server, the store is locked, or another service serves the same root."""
    CRASHED = 70
    """The service ended on what nobody foresaw, or its store failed while it ran: a supervisor starts it again."""
    INTERRUPTED = 130
    """Ctrl-C."""
