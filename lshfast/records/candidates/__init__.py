"""Which pairs of records are compared.

- `rules`, `nearest` and `record_texts` are the blocking rules, `names` writes them as strings.
- `blocks` are the pairs of a rule, `union` those of several.
- `defaults` and `given` choose rules, and `reach` estimates which part of the matches they bring.
"""
