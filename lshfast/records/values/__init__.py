"""Normal forms of values.

- `strings` and `unicode_forms` are for all values; `dates`, `months`, `ages`, `phones` and
  `addresses` for the kinds of their names; `forms` chooses by kind.
- `markers` finds values that stand for a missing one, with `marker_words`; `missing` has those that
  a user names.
"""
