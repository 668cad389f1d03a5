"""Floor 3, one adapter per kind of arm."""
