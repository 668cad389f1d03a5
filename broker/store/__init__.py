"""The service's durable memory: one SQLite file, one writer thread, group commit."""
