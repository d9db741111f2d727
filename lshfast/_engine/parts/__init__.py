"""Runs in parts: components of buckets are processed one by one.

- `components` divides the rows, `spool` keeps the texts of parts in temporary files.
- `pair_runs` lists the pairs of all parts, and `screening` leaves out rows of crowds that are
  similar to no other row.
"""
