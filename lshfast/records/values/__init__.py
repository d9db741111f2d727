"""Normal forms of values.

- `strings` and `unicode_forms` are for all values; `dates`, `months`, `ages`, `phones` and
  `addresses` for the kinds of their names; `forms` chooses by kind.
- `missing` finds values that stand for a missing one.
"""
