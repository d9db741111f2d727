"""Strings in a file: they are those that were appended, and have the order of Python's strings."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lshfast._io import string_file
from lshfast._io.string_file import HashedKeys, StringFile

# Long common beginnings, zeros at the ends, characters of one to four bytes, and lone surrogates.
strings = st.lists(
    st.tuples(
        st.sampled_from(["", "2024-05-01 ", "x" * 63, "y" * 100]),
        st.text("ab\0\u00e9\u4e00\U0001f600\ud800", max_size=9),
    ).map("".join),
    max_size=40,
)


def written(folder, values):
    file = StringFile(str(folder / "strings"))
    for value in values:
        file.append(value)
    return file


@given(strings, st.sampled_from([1, 7, 1 << 16]), st.sampled_from([1, 40, 1 << 20]))
def test_ranks_are_those_of_sorted_strings(tmp_path_factory, values, held, words):
    folder = tmp_path_factory.mktemp("strings")
    before = string_file.HELD_BYTES, string_file.RANKED_WORDS
    string_file.HELD_BYTES, string_file.RANKED_WORDS = held, words
    try:
        file = written(folder, values)
        ranks = file.ranks()
    finally:
        string_file.HELD_BYTES, string_file.RANKED_WORDS = before
    wanted = sorted(values)
    assert ranks.tolist() == [wanted.index(value) for value in values]
    rows = np.arange(len(values), dtype=np.int64)[::-1]
    assert file.take(rows) == values[::-1]
    again = StringFile(str(folder / "strings"), file.ends())
    assert len(again) == len(values)
    assert list(again) == values


def test_hashed_keys_find_the_rows_of_all_batches():
    known, batch = HashedKeys(), 50
    for start in range(0, 1000, batch):
        known.add(
            [f"key{i}" for i in range(start, start + batch)],
            np.arange(start, start + batch, dtype=np.int64),
        )
    assert known.find(["key999", "other", "key0", "key500"]).tolist() == [
        999,
        -1,
        0,
        500,
    ]
    assert HashedKeys().find(["a", 1]).tolist() == [-1, -1]
