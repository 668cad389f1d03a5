"""The one message of the device configuration that is in use."""

from kortex_api.autogen.messages.build import build

globals().update(build("Fake.DeviceConfig", {"SerialNumber": {"serial_number": "str"}}))
