/* Distances and products. */
#include "sanitize_distances.c"

static void check_input(void) {
    CHECK_ONE_OF(check_distances, check_products);
}
