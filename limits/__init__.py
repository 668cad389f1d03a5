"""Floor 2, the limits engine: records and arrays in, verdicts out."""
