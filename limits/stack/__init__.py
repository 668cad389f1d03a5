"""The limit stack of an arm: layers of numbers from every source, folded into the effective ones with provenance."""
