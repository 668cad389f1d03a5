"""What ends or refuses a store."""


class StoreError(Exception):
    """Root of the store's errors."""


class StoreLockedError(StoreError):
    """Another process holds the directory."""


class StoreVersionError(StoreError):
    """The file is not ours, or was written by a newer version."""


class StoreFullError(StoreError):
    """The disk is full: nothing of the batch happened. Open the store anew when it can be written again."""


class StoreBrokenError(StoreError):
    """The store can no longer be trusted: end the process, never try again on the same connection."""
