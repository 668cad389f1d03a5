"""A stand-in for the vendor's package, written from public facts: the same names and signatures, and its faults.

The frames are our own: those of the arm are not public. Each fault stands where the number in brackets is.
"""
