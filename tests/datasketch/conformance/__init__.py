"""Calls of datasketch's public face, as data, and what runs and compares them."""
