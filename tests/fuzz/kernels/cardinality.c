/* Registers and estimates of cardinality. */
#include "sanitize_cardinality.c"

static void check_input(void) {
    if (below(2)) {
        unsigned p = CARDINALITY_MIN_PRECISION + (unsigned)below(6);
        size_t n = below(200);
        check_registers(p, n);
    } else {
        size_t k = CARDINALITY_MIN_SLOTS + below(400);
        check_signatures(k);
    }
}
