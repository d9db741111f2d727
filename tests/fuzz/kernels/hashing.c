/* Hash functions and perfect maps. */
#include "sanitize_hashing.c"

static void check_input(void) {
    static const uint64_t PRIMES[] = {2, 3, 31, 65537, 4294967291u, P61};
    size_t kind = below(3), n = 1 + below(200);
    if (kind == 0) check_polynomials(n, PRIMES[below(COUNT(PRIMES))]);
    if (kind == 1) check_words(n, below(2) ? below(1000) : anything());
    if (kind == 2) check_map(n);
}
