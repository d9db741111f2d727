"""From scores to links.

- `scoring` scores pairs, and `decision` chooses those that score enough.
- `matchings` has the probabilities of pairs if each record has one match at most; `assignment`
  chooses among the pairs of a record, and `clusters` groups the records of one table.
- `labels` applies the marks of people.
"""
