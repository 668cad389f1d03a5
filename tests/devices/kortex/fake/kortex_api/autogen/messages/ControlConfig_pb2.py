"""The messages of ControlConfig: our own generated code, the same on the wire."""

from schema.proto.kinova.control_config_pb2 import *  # noqa: F403 - the same messages by the vendor's name
