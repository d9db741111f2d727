"""Kinds of items other than texts and sets: vectors and codes, their measures, and their joins."""
