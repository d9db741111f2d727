"""Calls of datasketch's public face, as functions of the library, and what runs and compares them."""
