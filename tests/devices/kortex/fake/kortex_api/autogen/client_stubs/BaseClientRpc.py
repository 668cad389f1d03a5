"""The few methods of the base that are in use."""

from kortex_api.autogen.client_stubs.stub import call
from kortex_api.autogen.messages import Base_pb2


class BaseClient:
    def __init__(self, router):
        self.router = router

    GetActuatorCount = call(2, "GetActuatorCount", None, Base_pb2.ActuatorInformation)
    GetArmState = call(2, "GetArmState", None, Base_pb2.ArmStateInformation)
    GetFirmwareBundleVersions = call(2, "GetFirmwareBundleVersions", None, Base_pb2.FirmwareBundleVersions)
