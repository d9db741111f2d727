"""A brute-force model of LSHIndex: a dict from keys to signatures, all slots of which are compared for each query."""

import numpy as np

EMPTY = 2**64 - 1


class IndexModel:
    """Entries and answers as definitions.md and the docstrings of LSHIndex have them; imports nothing of lshfast.

    A signature is a tuple of num_perm ints, all of them EMPTY for an empty set.
    """

    def __init__(self, num_perm, bands, rows_per_band, entries=()):
        self.num_perm, self.bands, self.rows_per_band = num_perm, bands, rows_per_band
        self.entries = dict(entries)

    def copy(self):
        return IndexModel(self.num_perm, self.bands, self.rows_per_band, self.entries)

    # ---- writing ----

    def first_duplicate(self, keys):
        """Return the place of the first key that is here already or for the second time, None if there is none."""
        seen = set(self.entries)
        for place, key in enumerate(keys):
            if key in seen:
                return place
            seen.add(key)
        return None

    def insert(self, keys, signatures, on_duplicate):
        """Insert a batch, which "error" must allow; return the number of entries that are new or replaced."""
        if on_duplicate == "error":
            assert self.first_duplicate(keys) is None
        new = {}
        for key, signature in zip(keys, signatures, strict=True):
            if on_duplicate != "skip" or (key not in new and key not in self.entries):
                new[key] = tuple(int(slot) for slot in signature)
        self.entries |= new
        return len(new)

    def remove(self, keys):
        for key in set(keys):
            del self.entries[key]

    # ---- reading ----

    def agreement(self, query, key):
        """Return the slots in which an entry equals a query, or None if it is no candidate of it."""
        query = np.array(query, np.uint64)
        entry = np.array(self.entries[key], np.uint64)
        if query[0] == EMPTY or entry[0] == EMPTY:
            return None
        equal = query == entry
        bands = equal[: self.bands * self.rows_per_band].reshape(
            self.bands, self.rows_per_band
        )
        return int(equal.sum()) if bands.all(axis=1).any() else None

    def similarities(self, query, threshold=0.0):
        """Return the similarity of each candidate that reaches the threshold, by key."""
        agreements = {key: self.agreement(query, key) for key in self.entries}
        found = {
            key: count / self.num_perm
            for key, count in agreements.items()
            if count is not None
        }
        return {
            key: similarity
            for key, similarity in found.items()
            if similarity >= threshold
        }

    def query(self, query, k=None, threshold=None):
        """Return what LSHIndex.query does for one signature, with tuples for Match; the keys must compare."""
        found = self.similarities(query, threshold or 0.0)
        if k is None and threshold is None:
            return sorted(found)
        return sorted(found.items(), key=lambda match: (-match[1], match[0]))[:k]

    def pairs(self, threshold):
        """Return the similarity of each pair of candidates that reaches the threshold, by {left, right}."""
        return {
            frozenset((left, right)): similarity
            for left, query in self.entries.items()
            for right, similarity in self.similarities(query, threshold).items()
            if left is not right
        }

    def buckets(self):
        """Return the number of entries in each bucket: in (band, its slots)."""
        sizes = {}
        for signature in self.entries.values():
            for band in range(self.bands if signature[0] != EMPTY else 0):
                bucket = (
                    band,
                    signature[
                        band * self.rows_per_band : (band + 1) * self.rows_per_band
                    ],
                )
                sizes[bucket] = sizes.get(bucket, 0) + 1
        return sizes


def compare(keys):
    """Tell whether all of these keys compare with each other."""
    try:
        sorted(keys)
    except TypeError:
        return False
    return not any(
        isinstance(key, frozenset) for key in keys
    )  # these compare, but are in no order


def check_answer(found, model, query, k=None, threshold=None):
    """Check the answer to one query; keys that do not compare may stand in any order, and any of equals is left out."""
    expected = model.similarities(query, threshold or 0.0)
    if compare(expected):
        assert found == model.query(query, k, threshold)
    elif k is None and threshold is None:
        assert sorted(found, key=repr) == sorted(expected, key=repr)
    else:
        keys = [key for key, _ in found]
        similarities = [similarity for _, similarity in found]
        assert len(set(keys)) == len(keys)
        assert (
            similarities
            == [expected[key] for key in keys]
            == sorted(expected.values(), reverse=True)[:k]
        )
