"""Runs in parts: components of buckets are processed one by one.

- `sketched_rows` reads all rows first, and leaves their marks and bucket keys.
- `components` divides the rows, by the numbers of `part_numbers`; `spool` keeps the texts of parts
  in temporary files.
- `pair_runs` lists the pairs of all parts, and `screening` leaves out rows of crowds that are
  similar to no other row.
- `removals` writes which rows are removed, and why.
- `task_files` and `task_reader` keep the columns of the tasks of a run, `stage_index` those of the
  manifests of a stage.
"""
