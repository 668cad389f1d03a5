"""Changes with an end: their stack, their ends, and what they keep others from."""
