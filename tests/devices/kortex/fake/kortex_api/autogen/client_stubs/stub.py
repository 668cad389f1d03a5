"""What the stubs of all services do."""

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
    return None if answer is None else answer.FromString(payload)
