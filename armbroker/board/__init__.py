"""What a screen for people shows of a fleet: pure facts, made from what a watch tells; and the feed that keeps them."""
