"""Deduplication of files on one machine, with or without a cap of memory.

- `api` is the function and `job` what follows from options; `run` runs, `outputs` names what a run
  writes, and `writing` writes it. `grouped` runs over groups of rows.
- Within a cap (`cap`): `capped` runs in parts after a `first_reading` of `all_rows`; `work_folder`
  says what is done, and `input_sums` recognizes the inputs of a run that is resumed.
"""
