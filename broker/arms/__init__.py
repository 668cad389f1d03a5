"""The arms of the fleet: their sessions, their queues, their files."""
