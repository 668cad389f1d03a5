"""The limits of an arm: layers from its state, folded, and what documents say of them."""
