"""Tables of records.

- `sources` reads tables of any library; `record_table` has their columns, ids and coded fields.
- `fields` are what is compared; `keys`, `dependent` and `content` find columns that are no
  evidence, that follow from others, or that have the same content.
- `distinct_values` and `coding` number the values.
"""
