"""Changes of several slots: their values, the order in which they are written, what became of each slot."""
