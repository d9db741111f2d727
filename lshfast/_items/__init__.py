"""Kinds of items other than texts: their readers, their measures, and their joins.

Reading: `kind` decides the kind of a column, and `reading` has the reader of each: `items` for
vectors and codes, `weighted` for weighted sets, `sets` for sets, which `packed_sets` stores as
bytes. `measures` has the measures of each kind and the plan of a run.

Joins: `held_points` holds the points of a run, `buckets` chooses their bands, `bucket_join`
compares the points of a bucket, and `meetings` has the pairs. `rare_elements` and `split_buckets`
divide crowded buckets of weighted sets; `crowds` divides crowds into cells.
"""
