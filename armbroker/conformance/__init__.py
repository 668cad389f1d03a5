"""What the service makes of every adapter: the part of the conformance suite that runs a whole service."""

from armbroker.conformance.table import service_behaviours

__all__ = ["service_behaviours"]
