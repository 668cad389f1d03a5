"""Keys of small values that the store itself relies on; others are of whoever sets them."""

EPOCH = "epoch"
"""The epoch, as in the service's row: one of the two is believed when the other is damaged."""
STARTS = "change_starts"
"""How many starts after an unclean end found each open change: a JSON object by its number."""
NEXT_HANDLE = "next_handle"
"""The number of the next handle."""
DAMAGED = "damaged/"
"""What the key of an arm begins with that has to be confirmed, since rows of it were damaged; the value names them."""
OF_ARMS = ("authority/", "hold/", "restored/", "fence/")
"""What the keys of small values begin with that say what may be done with an arm."""
AUDIT_ARCHIVED = "audit_archived"
"""Number and hash of the last audit entry that went into an archive and is no longer in the file."""
