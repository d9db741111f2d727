"""Stores: what an index keeps its entries in."""
