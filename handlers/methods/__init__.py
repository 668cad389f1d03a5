"""The decisions of single methods, one module a subject."""
