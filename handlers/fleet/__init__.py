"""Questions about many arms, and what is counted of them."""
