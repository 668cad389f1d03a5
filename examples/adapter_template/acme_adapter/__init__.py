"""An adapter for Acme arms, which do not exist."""
