"""Tests of the drop-in."""
