"""Changes of several slots: slot after slot, one end for all; what undoes them, and what a start left of them."""
