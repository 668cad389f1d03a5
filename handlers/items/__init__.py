"""Config items: what is checked of a value, which way it goes, how a change of it ended."""
