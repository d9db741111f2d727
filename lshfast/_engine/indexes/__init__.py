"""Indexes as jobs and runs over files use them.

- `files` builds and changes the index in a file, and `targets` writes a new one to a file or a
  folder of shards; `queries` and `searches` look rows up.
- `run_indexes` has the indexes that a run compares with and writes; `plan_of_index` the plan of
  such a run.
- `items`, `points` and `weighted` adapt the index of each kind of items.
"""
