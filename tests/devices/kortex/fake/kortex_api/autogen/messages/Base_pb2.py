"""The few messages of the base that are in use."""

from kortex_api.autogen.messages.build import build

globals().update(
    build(
        "Fake.Base",
        {
            "ActuatorInformation": {"count": "u32"},
            "ArmStateInformation": {"active_state": "u32"},
            "FirmwareBundleVersions": {"main_bundle_version": "str"},
        },
    )
)
