"""Wire-compatible definitions of the part of `Kinova.Api` in use."""
