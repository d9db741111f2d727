"""Runs in parts: components of buckets are processed one by one.

- `sketched_rows` reads all rows first, and leaves their marks and bucket keys.
- `components` divides the rows, by the numbers of `part_numbers`; `second_reading` reads the texts
  that are compared again, and `spool` keeps those of parts in temporary files.
- `pair_runs` lists the pairs of all parts, and `screening` leaves out rows of crowds that are
  similar to no other row.
- `removals` writes which rows are removed, and why.
- `task_files` and `task_reader` keep the columns of the tasks of a run, `stage_index` those of the
  manifests of a stage. `key_columns` are those of keys, and `earlier_columns` those of rows that
  are removed for an entry of an index.
"""
