"""What a run will take and find, estimated before it.

`texts` is for texts and sets within a cap of memory, `points` for weighted sets, vectors and codes,
and `sharing` estimates which rows share buckets.
"""
