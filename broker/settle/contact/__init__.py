"""What arms tell: whether they are there, which arm it is, what others changed on it."""
