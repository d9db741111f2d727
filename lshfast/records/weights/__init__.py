"""How much the agreement of a field counts.

- From agreement patterns: `patterns` counts them, `roles` says what the fields are, `mixture` is
  fitted to the counts, `dependence`, `relatives` and `differing` find fields that go together, and
  `network` scores pairs.
- From candidates: `fellegi_sunter`; from pairs that are very probably matches: `rivals`,
  `calibration` and `copies`; `chance_seeds` says how many of them are expected by chance.
  `similar_values` weighs similar values of which one is rare.
- `prior` has the share of matches, and `held_out` the rate of true matches.
"""
