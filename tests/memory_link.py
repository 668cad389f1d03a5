"""The MQTT link in memory, where tests look for it."""

from broker.conformance.memory_link import BASE, PATIENCE_S, MemoryLink, MemoryReceipt, Published

__all__ = ["BASE", "PATIENCE_S", "MemoryLink", "MemoryReceipt", "Published"]
