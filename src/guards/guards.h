/* The clock by which long kernels look for signals. */
#ifndef LSHFAST_GUARDS_H
#define LSHFAST_GUARDS_H

#include <stdint.h>
#include <time.h>

/* Milliseconds of a clock, above 0; it may be set back. */
static inline uint64_t milliseconds(void) {
    struct timespec now;
    return timespec_get(&now, TIME_UTC) ? (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 : 1;
}

#endif
