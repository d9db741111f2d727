"""What the tables of an index mean: rows with names and signatures, found by both. And their tags, and the checksum.

The tables are an answer to one question only: which rows agree with a signature in all slots of some band.
"""

from tests.reference.hashing import EMPTY, GOLDEN, MASK64, Domain, draw, mix64
from tests.reference.minhash import band_keys, is_empty


def unmix64(y):
    """Return the x with mix64(x) = y, by which anything gets the tag that a test wants."""
    y ^= y >> 31 ^ y >> 62
    y = y * pow(0x94D049BB133111EB, -1, 2**64) & MASK64
    y ^= y >> 27 ^ y >> 54
    y = y * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK64
    return y ^ y >> 30 ^ y >> 60


def slot_of_key(key, band=0):
    """Return the slot that alone makes up a band of this key."""
    return unmix64(key) ^ draw(0, Domain.BAND, band)


def band_tags(signature, bands, rows):
    """Return the tag of each band: the upper half of its key; None for an empty signature, which is in no table."""
    return [
        None if is_empty(signature) else key >> 32
        for key in band_keys(signature, bands, rows)
    ]


def tag_of_integer(name):
    """Return the tag of an integer of 64 bits."""
    return mix64(name & MASK64) >> 32


def tag_of_bytes(name):
    """Return the tag of bytes: their length and limbs of eight, mixed one after the other."""
    value = mix64(len(name) + 1)
    for at in range(0, len(name), 8):
        value = mix64(value ^ int.from_bytes(name[at : at + 8], "little"))
    return value >> 32


def checksum(data):
    """Return the checksum of bytes: words of eight go round four sums, which are mixed with the length at the end."""
    sums = [1, 2, 3, 4]
    for at in range(0, len(data), 8):
        lane = at // 8 % 4
        product = (
            sums[lane] ^ int.from_bytes(data[at : at + 8], "little")
        ) * GOLDEN & MASK64
        sums[lane] = product ^ product >> 32
    whole = len(data)
    for value in sums:
        whole = mix64(whole ^ value)
    return whole


class Tables:
    """Rows in use, their names, and those signatures that can be found."""

    def __init__(self, bands, rows):
        self.bands, self.rows = bands, rows
        self.in_use = set()
        self.names = {}  # row of each name
        self.signatures = {}  # of each row that was written

    def admit(self, names, rows):
        """Give rows to names that have none; return those of all, and where a row is new."""
        fresh, free = [], iter(rows)
        for name in names:
            fresh.append(name not in self.names)
            if fresh[-1]:
                self.names[name] = next(free)
                self.in_use.add(self.names[name])
        return [self.names[name] for name in names], fresh

    def allot(self, rows):
        """Take these rows without names."""
        self.in_use.update(rows)

    def hand_over(self, old, new):
        """Give the names of rows to others, and free them with their signatures."""
        others = dict(zip(old, new, strict=True))
        self.names = {name: others.get(row, row) for name, row in self.names.items()}
        for row in old:
            del self.signatures[row]
        self.in_use.difference_update(old)

    def release(self, rows):
        """Free rows and forget their names."""
        self.in_use.difference_update(rows)
        self.names = {
            name: row for name, row in self.names.items() if row in self.in_use
        }

    def agree(self, a, b):
        """Tell whether two signatures agree in all slots of some band; an empty one agrees with nothing."""
        if is_empty(a) or is_empty(b):
            return False
        bands = (slice(j * self.rows, (j + 1) * self.rows) for j in range(self.bands))
        return any(a[band] == b[band] for band in bands)

    def candidates(self, signature, least=0):
        """Return (row, equal slots) of the candidates with that many equal slots, ascending."""
        found = [(row, sum(x == y for x, y in zip(signature, other, strict=True)))
                 for row, other in sorted(self.signatures.items()) if self.agree(signature, other)]  # fmt: skip
        return [(row, equal) for row, equal in found if equal >= least]

    def buckets(self):
        """Return the rows of each (band, tag)."""
        found = {}
        for row, signature in self.signatures.items():
            for band, tag in enumerate(band_tags(signature, self.bands, self.rows)):
                if tag is not None:
                    found.setdefault((band, tag), set()).add(row)
        return found

    def bucket_sizes(self):
        """Return how many buckets hold 1, 2-3, 4-7, ... rows, the most rows of one, and the sum of the squares."""
        counts = [len(rows) for rows in self.buckets().values()]
        sizes = [
            sum(count.bit_length() == i + 1 for count in counts) for i in range(32)
        ]
        return sizes, max(counts, default=0), sum(count * count for count in counts)


assert unmix64(mix64(EMPTY)) == EMPTY
