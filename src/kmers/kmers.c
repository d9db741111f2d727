#include "kmers/kmers.h"

#include <string.h>

static inline uint64_t word_at(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return little_endian(x);
}

static inline uint64_t rotated(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

static inline uint64_t finished(uint64_t x) {
    x = (x ^ x >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    x = (x ^ x >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return x ^ x >> 33;
}

/* Masks of the letters of a k-mer after its whole blocks of 16. */
struct tail {
    uint64_t low, high;
};

static struct tail tail_of(unsigned k) {
    const unsigned left = k % 16;
    struct tail tail = {left >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * left) - 1,
                        left > 8 ? UINT64_MAX >> 8 * (16 - left) : 0};
    return tail;
}

/* A word of the k-mer or, where the bits of `reversed` are ones, of its complement. Which one it is cannot be predicted, so
 * there is no branch. */
static inline uint64_t word_of(const uint8_t *kmer, const uint8_t *complement, uint64_t reversed) {
    uint64_t own = word_at(kmer);
    return own ^ ((own ^ word_at(complement)) & reversed);
}

static ALWAYS_INLINED uint64_t hash_of(const uint8_t *kmer, const uint8_t *complement, uint64_t reversed, unsigned k,
                                       unsigned blocks, struct tail tail) {
    uint64_t a = KMERS_SEED, b = KMERS_SEED;
    for (unsigned i = 0; i < blocks; i++, kmer += 16, complement += 16) {
        a ^= rotated(word_of(kmer, complement, reversed) * KMERS_C1, 31) * KMERS_C2;
        a = (rotated(a, 27) + b) * 5 + 0x52DCE729;
        b ^= rotated(word_of(kmer + 8, complement + 8, reversed) * KMERS_C2, 33) * KMERS_C1;
        b = (rotated(b, 31) + a) * 5 + 0x38495AB5;
    }
    b ^= rotated((word_of(kmer + 8, complement + 8, reversed) & tail.high) * KMERS_C2, 33) * KMERS_C1;
    a ^= rotated((word_of(kmer, complement, reversed) & tail.low) * KMERS_C1, 31) * KMERS_C2;
    a ^= k;
    b ^= k;
    a += b;
    b += a;
    return finished(a) + finished(b);
}

/* `blocks` is a constant in each call, and with it the loop over them is unrolled. */
static ALWAYS_INLINED size_t hash_blocks(const uint8_t *letters, const uint8_t *complement, size_t n, unsigned k,
                                         unsigned blocks, uint64_t most, uint64_t *out) {
    const struct tail tail = tail_of(k);
    size_t found = 0;
    complement += n - 1;
    for (size_t i = 0; i < n; i++, letters++, complement--) {
        uint64_t own = swapped_bytes(word_at(letters)), other = swapped_bytes(word_at(complement));
        uint64_t reversed = other < own;
        if (k < 8 || own == other) reversed = memcmp(complement, letters, k) < 0;
        uint64_t hash = hash_of(letters, complement, 0 - reversed, k, blocks, tail);
        out[found] = hash;
        found += hash <= most;
    }
    return found;
}

static size_t hash(const uint8_t *letters, const uint8_t *complement, size_t n, unsigned k, uint64_t most, uint64_t *out) {
    switch (k / 16) {
    case 0: return hash_blocks(letters, complement, n, k, 0, most, out);
    case 1: return hash_blocks(letters, complement, n, k, 1, most, out);
    case 2: return hash_blocks(letters, complement, n, k, 2, most, out);
    case 3: return hash_blocks(letters, complement, n, k, 3, most, out);
    default: return hash_blocks(letters, complement, n, k, 4, most, out);
    }
}

const struct kmers_kernels kmers_scalar = {hash};

/* AVX2 has no product of 64-bit lanes. With three of 32 bits instead, a k-mer took 0.84 of the scalar time: too little for a
 * kernel of its own. */
const struct kmers_kernels *const kmers_levels[CPU_LEVELS] =
    CPU_TABLE(&kmers_scalar, &kmers_scalar, &kmers_avx512, &kmers_scalar);

/* Write the reverse complement of n letters to complement[0..n), and something to the next seven bytes; those before the
 * letters are not read. In ASCII, A and T differ by 0x15, C and G by 4, and the second bit tells these pairs apart. */
static void complement_letters(const uint8_t *letters, size_t n, uint8_t *complement) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    for (size_t i = 0; i < n; i += 8) {
        uint8_t first[8] = {0};
        if (n - i < 8) memcpy(first + (8 - (n - i)), letters, n - i);
        uint64_t x = word_at(n - i < 8 ? first : letters + (n - i - 8));
        x = little_endian(swapped_bytes(x ^ 0x15 * ones ^ (x >> 1 & ones) * 0x11));
        memcpy(complement + i, &x, 8);
    }
}

size_t kmers_sample(const struct kmers_kernels *kernels, const uint8_t *letters, size_t n, unsigned k, uint64_t most,
                    uint64_t *out) {
    uint8_t complement[KMERS_BLOCK + KMERS_MOST + KMERS_SLACK] = {0};
    const uint8_t *const end = letters + n;
    size_t found = 0;
    while ((size_t)(end - letters) >= k) {
        const uint8_t *stop = memchr(letters, 0, (size_t)(end - letters));
        if (stop == NULL) stop = end;
        while ((size_t)(stop - letters) >= k) {
            size_t count = (size_t)(stop - letters) - k + 1, length;
            if (count > KMERS_BLOCK) count = KMERS_BLOCK;
            length = count + k - 1;
            complement_letters(letters, length, complement);
            found += kernels->hash(letters, complement, count, k, most, out + found);
            letters += count;
        }
        if (stop == end) break;
        letters = stop + 1;
    }
    return found;
}

size_t kmers_compare(const uint64_t *a, size_t n, const uint64_t *b, size_t m, size_t bottom, size_t *shared, size_t *all) {
    size_t i = 0, j = 0, seen = 0, both = 0;
    while (i < n && j < m && seen < bottom) {
        const uint64_t x = a[i], y = b[j];
        both += x == y;
        i += x <= y;
        j += y <= x;
        seen++;
    }
    const size_t left = n - i + m - j; /* one of them has ended, or there are enough */
    *shared = both;
    *all = bottom - seen < left ? bottom : seen + left;
    return seen;
}
