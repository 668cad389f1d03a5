"""What one transaction holds, and the replies that go with it."""
