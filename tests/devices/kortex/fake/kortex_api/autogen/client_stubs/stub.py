"""What the stubs of all services do."""

from kortex_api.autogen.messages import Common_pb2
from kortex_api.RouterClient import RouterClientSendOptions


def call(service, name, request, answer):
    """A method without a request (None), or with one."""
    if request is None:

        def method(self, deviceId=0, options=RouterClientSendOptions()):  # shared by all calls
            return _answer(answer, self.router.send(service, name, b"", deviceId, options))
    else:

        def method(self, message, deviceId=0, options=RouterClientSendOptions()):
            return _answer(answer, self.router.send(service, name, message.SerializeToString(), deviceId, options))

    method.__name__ = name
    return method


def _answer(answer, payload):
    if answer is not None:
        return answer.FromString(payload)
    Common_pb2.Empty.FromString(payload)
    return None
