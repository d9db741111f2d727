/* The portable weighted kernels: the definition that the others must equal bit for bit.
 *
 * shells: above each token stands a Poisson process of points (weight, time), cut into shells of weights
 * [2^a, 2^(a+1)), each point with a random slot; a slot's value is the time of the first point below the weights. Two
 * sets share it if it lies below both weights: with probability sum min / sum max. A shell's first time is so rarely
 * early enough that eight bits of it decide, eight shells a word. */
#include "weighted/weighted.h"

#include <math.h>
#include <string.h>

NO_CONTRACTION

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define LN2 0x1.62e42fefa39efp-1
#define FRACTION (((uint64_t)1 << 52) - 1)

/* What is added to the numbers of groups and shells, so that no two things draw the same word. */
#define GROUP_BASE 256
#define SHELL_BASE 4096

static inline uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^e for -1022 <= e <= 1023. */
static inline double power_of_two(int e) { return double_of((uint64_t)(e + 1023) << 52); }

/* A weight is 2^exponent (1 + fraction / 2^52). */
struct parts {
    int exponent;
    uint64_t fraction;
};

static inline struct parts parts_of(double x) {
    uint64_t bits = bits_of(x);
    int lowered = 0;
    if (bits >> 52 == 0) {
        bits = bits_of(x * 0x1p54);
        lowered = 54;
    }
    struct parts parts = {(int)(bits >> 52) - 1023 - lowered, bits & FRACTION};
    return parts;
}

/* j ln 2 + ln(1 + d), with 1 + d in about [sqrt(1/2), sqrt(2)]: ln(1 + d) = 2 atanh(d / (2 + d)). */
static inline double log_of(double j, double d) {
    double s = d / (2.0 + d), z = s * s, y = z * z;
    double even = 1.0 / 17 + y * (1.0 / 21);
    double odd = 1.0 / 19 + y * (1.0 / 23);
    even = 1.0 / 13 + y * even;
    odd = 1.0 / 15 + y * odd;
    even = 1.0 / 9 + y * even;
    odd = 1.0 / 11 + y * odd;
    even = 1.0 / 5 + y * even;
    odd = 1.0 / 7 + y * odd;
    even = 1.0 + y * even;
    odd = 1.0 / 3 + y * odd;
    return j * LN2 + 2.0 * s * (even + z * odd);
}

double weighted_log(double x) {
    struct parts parts = parts_of(x);
    double m = double_of(parts.fraction | (uint64_t)1023 << 52);
    int halved = m > 0x1.6a09e667f3bcdp+0;
    m = halved ? m * 0.5 : m;
    return log_of(parts.exponent + halved, m - 1.0);
}

static inline int leading_zeros(uint64_t x) { return 63 - (int)highest_bit(x); }

/* 1 - v / 2^63 is u / 2^63. u 2^j, brought to about 2^63, is compared with it as an integer: nothing is lost near 1. */
double weighted_exponential(uint64_t v) {
    const uint64_t one = (uint64_t)1 << 63, root_half = UINT64_C(0x5A827999FCEF3242);
    uint64_t u = one - v;
    int j = leading_zeros(u) - 1;
    j += u << j < root_half;
    return -log_of(-j, (double)(int64_t)((u << j) - one) * 0x1p-63);
}

int weighted_are_valid(const double *weights, size_t m, size_t *at) {
    for (size_t i = 0; i < m; i++) {
        if (!(weights[i] > 0 && weights[i] <= DBL_MAX)) {
            *at = i;
            return 0;
        }
    }
    return 1;
}

/* What one set is looked at with: shell a is looked at up to reach 2^(a - top) of its own unit of time. */
struct search {
    double reach;
    int top;
    size_t k;
    uint64_t *out;
};

/* Enter the points of a shell that come before `end`. Those of a weight's own shell count below its fraction. */
static void shell_points(const struct search *search, uint64_t hash, int a, uint64_t first, double end, int own,
                         uint64_t fraction) {
    uint64_t state = mix64(hash + GOLDEN * (uint64_t)(a + SHELL_BASE)), word = mix64(state + GOLDEN);
    uint64_t shift = (uint64_t)(1024 - a) << 52;
    double time = weighted_exponential(first << 55 | word >> 9 | 1);
    while (time < end) {
        if (!own || mix64(state + 3 * GOLDEN) >> 12 < fraction) {
            uint64_t *slot = &search->out[(mix64(state + 2 * GOLDEN) >> 32) * search->k >> 32];
            uint64_t value = bits_of(time) + shift;
            *slot = value < *slot ? value : *slot;
        }
        state += 3 * GOLDEN;
        time += weighted_exponential(mix64(state + GOLDEN) >> 1 | 1);
    }
}

/* The lowest group has number -135: adding a multiple of WEIGHTED_GROUP_SHELLS first makes the division one of positive
 * numbers. */
static inline int group_of(int a) { return (a + 2048) / WEIGHTED_GROUP_SHELLS - 2048 / WEIGHTED_GROUP_SHELLS; }

/* The highest bit of each byte that is 0. */
static inline uint64_t zero_bytes(uint64_t word) {
    const uint64_t sevens = UINT64_C(0x7F7F7F7F7F7F7F7F);
    return ~(((word & sevens) + sevens) | word | sevens);
}

/* No time is below 2^-63, so that a shell whose end is not above that has no point. */
static void token_points(const struct search *search, uint64_t token, double weight, uint64_t constant) {
    struct parts parts = parts_of(weight);
    int a = parts.fraction ? parts.exponent : parts.exponent - 1, group = group_of(a);
    int lowest = WEIGHTED_GROUP_SHELLS * (group - WEIGHTED_SHELL_GROUPS + 1);
    if (a - search->top < -1000) return;
    uint64_t hash = mix64(token ^ constant);
    double end = search->reach * power_of_two(a - search->top);
    while (a >= lowest && end > 0x1p-63) {
        uint64_t word = mix64(hash + GOLDEN * (uint64_t)(group + GROUP_BASE));
        int first = WEIGHTED_GROUP_SHELLS * group;
        if (end <= 1.0 / 256) { /* a byte other than 0 says no */
            word |= a - first < 7 ? UINT64_MAX << 8 * (a - first + 1) : 0;
            uint64_t zeros = zero_bytes(word);
            while (zeros) {
                int place = (63 - leading_zeros(zeros)) / 8, shell = first + place;
                shell_points(search, hash, shell, 0, end * power_of_two(shell - a), shell == parts.exponent,
                             parts.fraction);
                zeros &= ((uint64_t)1 << 8 * place) - 1;
            }
            end *= power_of_two(first - 1 - a);
            a = first - 1;
        } else {
            for (; a >= first; a--, end *= 0.5) {
                uint64_t byte = word >> 8 * (a - first) & 0xFF;
                if ((double)byte < 256.0 * end) {
                    shell_points(search, hash, a, byte, end, a == parts.exponent, parts.fraction);
                }
            }
        }
        group--;
    }
}

static int has_empty_slot(const uint64_t *out, size_t k) {
    for (size_t i = 0; i < k; i++) {
        if (out[i] == EMPTY_SLOT) return 1;
    }
    return 0;
}

/* A point that was entered once changes nothing when it is entered again. */
void weighted_shells(const uint64_t *tokens, const double *weights, size_t n, uint64_t constant, double points,
                     size_t k, uint64_t *out) {
    memset(out, 0xFF, k * sizeof *out);
    if (n == 0) return;
    struct search search = {points, -1074, k, out};
    for (size_t t = 0; t < n; t++) {
        int exponent = parts_of(weights[t]).exponent;
        search.top = exponent > search.top ? exponent : search.top;
    }
    double total = 0;
    for (size_t t = 0; t < n; t++) {
        struct parts parts = parts_of(weights[t]);
        int below = parts.exponent - search.top;
        if (below > -1000) total += power_of_two(below) * (1.0 + (double)parts.fraction * 0x1p-52);
    }
    for (search.reach = points / total; has_empty_slot(out, k); search.reach *= 2) {
        for (size_t t = 0; t < n; t++) token_points(&search, tokens[t], weights[t], constant);
    }
}

/* In (0, 1), of 52 bits. */
static inline double uniform_of(uint64_t word) { return ((double)(int64_t)(word >> 12) + 0.5) * 0x1p-52; }

void weighted_icws(const uint64_t *tokens, const double *weights, size_t n, uint64_t constant, const uint64_t *slots,
                   size_t k, uint64_t *out) {
    for (size_t i = 0; i < k; i++) {
        double least = 0;
        out[i] = EMPTY_SLOT;
        for (size_t x = 0; x < n; x++) {
            uint64_t state = mix64(mix64(tokens[x] ^ constant) ^ slots[i]);
            double u[5];
            for (size_t j = 0; j < 5; j++) u[j] = uniform_of(mix64(state + GOLDEN * (j + 1)));
            double r = -weighted_log(u[0] * u[1]), c = -weighted_log(u[2] * u[3]), beta = u[4];
            double t = floor(weighted_log(weights[x]) / r + beta);
            double ln_a = weighted_log(c) - (t - beta) * r - r;
            uint64_t value = mix64(state ^ mix64((uint64_t)(int64_t)t));
            value = value == EMPTY_SLOT ? EMPTY_SLOT - 1 : value;
            if (x == 0 || ln_a < least || (ln_a == least && value < out[i])) {
                least = ln_a;
                out[i] = value;
            }
        }
    }
}

void weighted_multiset_tokens(uint64_t token, size_t count, uint64_t *out) {
    if (count) out[0] = token;
    uint64_t state = mix64(token);
    for (size_t i = 1; i < count; i++) out[i] = mix64(state + GOLDEN * i);
}

/* Most elements are out of reach in all lanes: one subtraction and one comparison a lane, and no division. */
static void sample(const struct samples *block, const int64_t *offsets, const int32_t *columns, const float *logs,
                   size_t n, size_t lanes, size_t k, int64_t *out) {
    for (size_t i = 0; i < n; i++, out += 2 * k) {
        float best[WEIGHTED_SAMPLE_LANES], reach[WEIGHTED_SAMPLE_LANES];
        for (size_t l = 0; l < WEIGHTED_SAMPLE_LANES; l++) best[l] = reach[l] = FLT_MAX;
        memset(out, 0, 2 * lanes * sizeof *out);
        for (int64_t e = offsets[i]; e < offsets[i + 1]; e++) {
            size_t at = (size_t)columns[e] * WEIGHTED_SAMPLE_LANES;
            const float *least = block->least + at;
            float log = logs[e];
            int within = 0;
            for (size_t l = 0; l < WEIGHTED_SAMPLE_LANES; l++) within |= least[l] - log < reach[l];
            if (!within) continue;
            for (size_t l = 0; l < lanes; l++) {
                if (!(least[l] - log < reach[l])) continue;
                float r = block->r[at + l], beta = block->beta[at + l];
                float t = floorf(log / r + beta), above = t - beta, ln_a;
                if (block->shifted) {
                    ln_a = block->ln_c[at + l] - (above + 1.0f) * r;
                } else {
                    ln_a = block->ln_c[at + l] - above * r - r;
                }
                if (!(ln_a < best[l])) continue;
                best[l] = ln_a;
                reach[l] = ln_a + block->margin;
                out[2 * l] = columns[e];
                out[2 * l + 1] = (int64_t)t;
            }
        }
    }
}

static int element_order(const uint64_t *x, const uint64_t *y) {
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return x[1] == y[1] ? 0 : x[1] < y[1] ? -1 : 1;
}

/* A sum and what rounding has left out of it (Neumaier, ZAMM 1974): so decimal weights add up as they read. */
struct sum {
    double high, low;
};

static struct sum plus(struct sum sum, double x) {
    double high = sum.high + x, part = high - sum.high;
    return (struct sum){high, sum.low + ((sum.high - (high - part)) + (x - part))};
}

double weighted_similarity(const uint64_t *a, size_t n, const uint64_t *b, size_t m) {
    const uint64_t *a_end = a + n * WEIGHTED_ELEMENT_WORDS, *b_end = b + m * WEIGHTED_ELEMENT_WORDS;
    struct sum least = {0, 0}, most = {0, 0};
    while (a < a_end || b < b_end) {
        int order = a == a_end ? 1 : b == b_end ? -1 : element_order(a, b);
        double left = order <= 0 ? double_of(a[2]) : 0, right = order >= 0 ? double_of(b[2]) : 0;
        least = plus(least, left < right ? left : right);
        most = plus(most, left < right ? right : left);
        if (order <= 0) a += WEIGHTED_ELEMENT_WORDS;
        if (order >= 0) b += WEIGHTED_ELEMENT_WORDS;
    }
    return most.high > 0 ? (least.high + least.low) / (most.high + most.low) : 0;
}

size_t weighted_equal_samples(const int64_t *a, const int64_t *b, size_t k) {
    size_t equal = 0;
    for (size_t i = 0; i < k; i++) equal += ((a[2 * i] ^ b[2 * i]) | (a[2 * i + 1] ^ b[2 * i + 1])) == 0;
    return equal;
}

const struct weighted_kernels weighted_scalar = {sample};

const struct weighted_kernels *const weighted_levels[CPU_LEVELS] =
    CPU_TABLE(&weighted_scalar, &weighted_avx2, &weighted_avx512, &weighted_scalar);
