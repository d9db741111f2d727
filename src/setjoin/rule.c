/* How many tokens a pair must share. A quotient of integers that is rounded up in integers loses no pair; for the cosine,
 * whose square root is rounded, the doubles decide themselves. */
#include "setjoin/setjoin.h"

#include <math.h>

static inline uint64_t rounded_up(uint64_t x, uint64_t y) { return x / y + (x % y != 0); }

static inline int cosine_does(uint64_t overlap, double root, double threshold) {
    return (double)overlap / root >= threshold;
}

static uint64_t cosine_need(uint64_t a, uint64_t b, double threshold) {
    double root = sqrt((double)a * (double)b);
    uint64_t needed = (uint64_t)(threshold * root);
    while (needed > 0 && cosine_does(needed - 1, root, threshold)) needed--;
    while (!cosine_does(needed, root, threshold)) needed++;
    return needed;
}

uint64_t setjoin_need(const struct setjoin_rule *rule, uint64_t a, uint64_t b) {
    uint64_t whole = 1;
    switch (rule->kind) {
    case SETJOIN_SUM: whole = a + b; break;
    case SETJOIN_SMALLER: whole = a < b ? a : b; break;
    case SETJOIN_INDEXED: whole = a; break;
    case SETJOIN_PROBING: whole = b; break;
    case SETJOIN_COSINE: whole = cosine_need(a, b, rule->threshold); break;
    default: break;
    }
    uint64_t need = rule->kind == SETJOIN_COSINE ? whole : rounded_up(whole * rule->p, rule->q);
    return need ? need : 1;
}

/* The smallest partner that can reach the threshold with a set of this size: what they need is at most its size. */
static uint64_t least_partner(const struct setjoin_rule *rule, uint64_t size, int probing) {
    uint64_t low = 1, high = SETJOIN_MOST_TOKENS;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t need = probing ? setjoin_need(rule, middle, size) : setjoin_need(rule, size, middle);
        if (need > middle) low = middle + 1;
        else high = middle;
    }
    return low;
}

static size_t prefix_of(uint64_t size, uint64_t need) { return need > size ? 0 : (size_t)(size - need + 1); }

size_t setjoin_probing_prefix(const struct setjoin_rule *rule, uint64_t b, uint64_t least) {
    return prefix_of(b, setjoin_need(rule, least, b));
}

size_t setjoin_longest_prefix(const struct setjoin_rule *rule, uint64_t size, int probing) {
    uint64_t least = least_partner(rule, size, probing);
    return prefix_of(size, probing ? setjoin_need(rule, least, size) : setjoin_need(rule, size, least));
}

size_t setjoin_indexed_prefix(const struct setjoin_rule *rule, uint64_t a, int self) {
    return self ? prefix_of(a, setjoin_need(rule, a, a)) : setjoin_longest_prefix(rule, a, 0);
}
