"""The notification topics and their handles."""

from handlers.rpc.outcome import CloseHandle, OpenHandle
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.enums import NotificationType
from schema.errors import BrokerError
from schema.messages import NotificationHandle, NotificationOptions

HANDLES_PER_CONNECTION = 32
"""Most handles that one connection may hold, of all arms."""
HANDLE_LIFE_US = 24 * 3600 * 1_000_000
"""A handle ends when its connection sent no request for this long."""

_UNSERVED = (NotificationType.NOTIFICATION_TYPE_THRESHOLD, NotificationType.NOTIFICATION_TYPE_FIX_RATE)


def _open(topic: str, state: ArmState, request: Request) -> OpenHandle:
    """Open a handle if the options are served and the connection has room for one more."""
    options = request.params
    if isinstance(options, NotificationOptions) and options.type in _UNSERVED:
        raise BrokerError("unimplemented", f"type: {NotificationType(options.type).name} is not implemented")
    sender = (request.user, request.conn)
    held = sum(1 for entry in state.handles.values() if (entry.user, entry.conn) == sender)
    if held >= HANDLES_PER_CONNECTION:
        raise BrokerError("unsupported_option", f"{held} handles of this connection, {HANDLES_PER_CONNECTION} at most")
    return OpenHandle(topic)


def open_config_topic(state: ArmState, request: Request) -> OpenHandle:
    """ControlConfigurationTopic: notices of configuration events."""
    return _open("config", state, request)


def open_mode_topic(state: ArmState, request: Request) -> OpenHandle:
    """ControlModeTopic: notices of control mode events."""
    return _open("mode", state, request)


def unsubscribe(state: ArmState, request: Request) -> CloseHandle:
    """Unsubscribe: end a handle of the same user on this arm.

    Raises:
        BrokerError: unknown_handle.
    """
    message = request.params
    identifier = message.identifier if isinstance(message, NotificationHandle) else 0
    entry = state.handles.get(identifier)
    if entry is None or entry.user != request.user or entry.arm != state.arm:
        raise BrokerError("unknown_handle", f"identifier {identifier}: no handle of {request.user} on {state.arm}")
    return CloseHandle(identifier)
