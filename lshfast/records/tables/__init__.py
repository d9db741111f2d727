"""Tables of records.

- `sources` reads tables of any library; `record_table` has their columns and ids.
- `fields` are what is compared; `keys`, `dependent` and `content` find columns that are no
  evidence, that follow from others, or that have the same content; `alike_columns` finds those of
  two tables that have other names, and `elsewhere` values that stand in another column.
- `distinct_values` numbers values as they are written; `coded_fields` has fields whose values are
  numbered by their normal forms, and `coding` what several fields decide together.
"""
