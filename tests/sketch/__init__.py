"""Tests of shingles, tokens and sketches."""
