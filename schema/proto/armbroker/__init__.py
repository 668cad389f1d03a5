"""Definitions of our own protocol, by version."""
