"""What is compared with what: sources of values, the differences between two of them, who set which value."""
