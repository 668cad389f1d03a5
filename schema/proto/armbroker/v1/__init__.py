"""Protocol 1."""
