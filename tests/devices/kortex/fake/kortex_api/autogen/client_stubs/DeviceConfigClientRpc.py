"""The one method of the device configuration that is in use."""

from kortex_api.autogen.client_stubs.stub import call
from kortex_api.autogen.messages import DeviceConfig_pb2


class DeviceConfigClient:
    def __init__(self, router):
        self.router = router

    GetSerialNumber = call(9, "GetSerialNumber", None, DeviceConfig_pb2.SerialNumber)
