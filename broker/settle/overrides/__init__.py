"""Changes with an end: they take their place, end by two clocks on one timer, and lead back."""
