/* Estimates of cardinality, in exactly rounded operations (+, -, * and /) alone, so that all machines give the same
 * bits. Logarithms, exponentials and roots are therefore written out, good to some 10^-15. */
#include "cardinality/cardinality.h"
#include "sketch/sketch.h"

#include <math.h>

NO_CONTRACTION

static const double LN2 = 0.693147180559945309417;

/* ln((1 + s) / (1 - s)) for |s| <= 1/5: 2 (s + s^3 / 3 + s^5 / 5 + ...). */
static double log_ratio(double s) {
    double square = s * s, sum = 0;
    for (int odd = 25; odd >= 1; odd -= 2) sum = sum * square + 1.0 / odd;
    return 2 * s * sum;
}

/* -ln(1 - u), 0 <= u < 1. */
static double neg_log1m(double u) {
    if (u < 0.25) return log_ratio(u / (2 - u));
    double rest = 1 - u, whole = 0;
    for (; rest < 0.75; rest *= 2) whole += LN2;
    return whole - log_ratio((rest - 1) / (rest + 1));
}

/* e^-x, x >= 0: the series of x / 2^i, squared i times. */
static double exp_neg(double x) {
    int halved = 0;
    if (x > 700) return 0;
    for (; x > 0.5; x /= 2) halved++;
    double sum = 1;
    for (int i = 15; i >= 1; i--) sum = 1 - x / i * sum;
    for (; halved; halved--) sum *= sum;
    return sum;
}

/* ---- signatures ----
 * A slot tells when its first token came. The hazard up to then is exponential, of mean 1 / n, so the sum of k slots
 * is about k / n, and k over the sum is too large by the square of its relative error. */

double cardinality_of_classic(const uint64_t *signature, size_t k) {
    double sum = 0;
    if (signature[0] == EMPTY_SLOT) return 0;
    for (size_t i = 0; i < k; i++) {
        uint64_t slot = signature[i] < P61 - 1 ? signature[i] : P61 - 2;
        double u = ((double)slot + 0.5) / (double)P61;
        sum += neg_log1m(u < 1 ? u : 1 - 0x1p-53);
    }
    return (double)(k - 1) / sum;
}

double cardinality_variance_of_fast(double n, size_t k) {
    double load = n / (double)k;
    if (load == 0) return 1; /* n is so small that it vanished */
    double missed = exp_neg(load), last = exp_neg(2 * load * (double)sketch_fast_rounds(k));
    return 1 - (1 - missed) / ((1 + missed) * load) * (1 - last);
}

/* How many hashes of 64 bits fall to slot i with a value below `value`. Slots are stretches of the upper half of the
 * hash, and values begin with the lower 24 bits of that half: a stretch passes through them 2^32 / (2^24 k) times. */
static uint64_t hashes_below(uint64_t value, size_t i, size_t k) {
    const uint64_t low = (((uint64_t)i << 32) + k - 1) / k, high = (((uint64_t)(i + 1) << 32) + k - 1) / k;
    const uint64_t first = low << 32 & SKETCH_VALUE_MASK, last = high << 32 & SKETCH_VALUE_MASK;
    uint64_t whole = ((high >> 24) - (low >> 24)) * value;
    return whole + (last < value ? last : value) - (first < value ? first : value);
}

double cardinality_of_fast(const uint64_t *signature, size_t k) {
    const double unit = (double)((uint64_t)1 << SKETCH_VALUE_BITS), all = 256 * unit, round = neg_log1m(1 / (double)k);
    const uint64_t rounds = sketch_fast_rounds(k);
    double sum = 0;
    if (signature[0] == EMPTY_SLOT) return 0;
    for (size_t i = 0; i < k; i++) {
        uint64_t passed = signature[i] >> SKETCH_VALUE_BITS, value = signature[i] & SKETCH_VALUE_MASK;
        if (passed < rounds) {
            sum += (double)passed * round + neg_log1m(((double)hashes_below(value, i, k) + 0.5) / all);
        } else {
            double u = ((double)value + 0.5) / unit;
            sum += (double)rounds * round + neg_log1m(u < 1 ? u : 1 - 0x1p-53);
        }
    }
    double first = (double)k / sum;
    return first * (1 - cardinality_variance_of_fast(first, k) / (double)k);
}

/* ---- registers ----
 * The improved raw estimator of Ertl, New cardinality estimation algorithms for HyperLogLog sketches, 2017: no tables
 * and no seams. Its expected sum is right for any number of tokens, so what is left is the bias of a reciprocal, which
 * is its squared relative error. */

static double sigma(double x) {
    double weight = 1, sum = x, before;
    do {
        x *= x;
        before = sum;
        sum += x * weight;
        weight += weight;
    } while (sum != before);
    return sum;
}

/* Newton's, from above: it falls until it is there. x is in (0, 1). */
static double square_root(double x) {
    double root = 1, next = (1 + x) / 2;
    while (next < root) {
        root = next;
        next = 0.5 * (root + x / root);
    }
    return root;
}

static double tau(double x) {
    double weight = 1, sum = 1 - x, before;
    if (x == 0 || x == 1) return 0;
    do {
        x = square_root(x);
        before = sum;
        weight /= 2;
        sum -= (1 - x) * (1 - x) * weight;
    } while (sum != before);
    return sum / 3;
}

double cardinality_of_registers(const uint32_t counts[CARDINALITY_MAX_REGISTER + 1], unsigned width, unsigned p) {
    const double m = (double)((uint64_t)1 << p);
    const unsigned top = width - p + 1;
    if (counts[0] == (uint32_t)1 << p) return 0;
    if (counts[top] == (uint32_t)1 << p) return INFINITY;
    double sum = m * tau(1 - counts[top] / m);
    for (unsigned i = top - 1; i >= 1; i--) sum = 0.5 * (sum + counts[i]);
    sum += m * sigma(counts[0] / m);
    double first = m / (2 * LN2) * m / sum, load = first / m;
    double variance = (0.5 + load * (0.26 + 0.064767 * load)) / (1 + load * (0.28 + 0.06 * load));
    return first * (1 - variance / m);
}
