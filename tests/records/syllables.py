"""Syllables that names of people, makers and places are made of."""

SYLLABLES = [
    "an",
    "ber",
    "ma",
    "lo",
    "ri",
    "sch",
    "ner",
    "tor",
    "vin",
    "el",
    "ka",
    "mi",
    "so",
    "hal",
    "den",
    "wex",
]
