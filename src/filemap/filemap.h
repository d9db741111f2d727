/* The bytes of an open file in memory, for reading. The map keeps no descriptor, so the file can be closed. (A lock of the
 * file lasts as long as a map, unless it is released.) */
#ifndef LSHFAST_FILEMAP_H
#define LSHFAST_FILEMAP_H

#include <errno.h>
#include <stddef.h>

#ifndef _WIN32
#include <sys/mman.h>
#endif

/* Map the first n > 0 bytes of a file; NULL, and errno is set, if that fails. Not for Windows, where errno is ENOSYS. */
static inline void *filemap_begin(int file, size_t n) {
#ifdef _WIN32
    (void)file;
    (void)n;
    errno = ENOSYS;
    return NULL;
#else
    void *start = mmap(NULL, n, PROT_READ, MAP_SHARED, file, 0);
    return start == MAP_FAILED ? NULL : start;
#endif
}

static inline void filemap_end(void *start, size_t n) {
#ifdef _WIN32
    (void)start;
    (void)n;
#else
    munmap(start, n);
#endif
}

#endif
