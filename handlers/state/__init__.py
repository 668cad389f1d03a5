"""What is known of an arm, and the words of refusals."""
