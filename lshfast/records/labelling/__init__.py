"""Pairs that a person marks: the `command`, its `job`, and the `screen` that shows a pair."""
