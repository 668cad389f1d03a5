"""The common messages: our own generated code, the same on the wire."""

from schema.proto.kinova.common_pb2 import *  # noqa: F403 - the same messages by the vendor's name
