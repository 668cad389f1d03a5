"""Wire-compatible definitions of the part of `intrinsic_proto` in use."""
