"""k-mers by their definition: canonical ones, MurmurHash3_x64_128, sketches, FASTA and FASTQ."""

MASK64 = 2**64 - 1
COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}
WHITE = " \t\r\n\v\f"


def rotated(x, by):
    return (x << by | x >> (64 - by)) & MASK64


def finished(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK64
    return x ^ x >> 33


def murmur(data, seed=42):
    """Return the first 64 bits of MurmurHash3_x64_128."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    a = b = seed
    whole = len(data) // 16 * 16

    def mixed_a(x):
        return rotated(x * c1 & MASK64, 31) * c2 & MASK64

    def mixed_b(x):
        return rotated(x * c2 & MASK64, 33) * c1 & MASK64

    for at in range(0, whole, 16):
        a ^= mixed_a(int.from_bytes(data[at : at + 8], "little"))
        a = ((rotated(a, 27) + b) * 5 + 0x52DCE729) & MASK64
        b ^= mixed_b(int.from_bytes(data[at + 8 : at + 16], "little"))
        b = ((rotated(b, 31) + a) * 5 + 0x38495AB5) & MASK64
    b ^= mixed_b(int.from_bytes(data[whole + 8 :], "little"))
    a ^= mixed_a(int.from_bytes(data[whole : whole + 8], "little"))
    a, b = a ^ len(data), b ^ len(data)
    a = (a + b) & MASK64
    b = (b + a) & MASK64
    return (finished(a) + finished(b)) & MASK64


def hashes(sequence, k):
    """Return the hashes of the canonical k-mers of a sequence, in order."""
    letters = "".join(c for c in sequence.upper() if c not in WHITE)
    found = []
    for at in range(len(letters) - k + 1):
        kmer = letters[at : at + k]
        if set(kmer) <= set("ACGT"):
            reverse = "".join(COMPLEMENT[c] for c in reversed(kmer))
            found.append(murmur(min(kmer, reverse).encode()))
    return found


def sketch(sequences, k, scaled=0, bottom=0):
    """Return the sketch of some sequences, ascending."""
    found = sorted({value for sequence in sequences for value in hashes(sequence, k)})
    if bottom:
        return found[:bottom]
    most = MASK64 if scaled == 1 else round(MASK64 / scaled)
    return [value for value in found if value <= most]


def bottom_shared(a, b, bottom):
    """Return how many of the smallest hashes of two sketches both have, and how many of these there are."""
    smallest = sorted({*a, *b})[:bottom]
    return len({*smallest} & {*a} & {*b}), len(smallest)
