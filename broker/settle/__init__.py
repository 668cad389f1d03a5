"""Stage 2: accepted changes go to their arm, are read back, and end."""
