"""Floor 3, decisions: pure, synchronous, no I/O."""
