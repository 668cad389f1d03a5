"""`armbroker top`: the fleet in the terminal."""
