"""What a method is: its row, its request, its outcome, the right to it."""
