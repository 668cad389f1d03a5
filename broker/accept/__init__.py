"""Stage 1: a message becomes a decision, a commit and an acknowledgement."""
