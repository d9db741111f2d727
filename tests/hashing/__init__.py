"""Tests of families of hash functions."""
