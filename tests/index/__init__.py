"""Tests of the index, its stores, forest and ensemble."""
