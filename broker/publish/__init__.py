"""What is published once it is committed: events, notices, documents."""
