"""Floor 1, what crosses the wire: records, codecs, errors, events."""
