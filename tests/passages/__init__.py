"""Tests of the search for shared passages."""
