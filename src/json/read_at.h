/* Reading at an offset of an open file, without its position where the system can. */
#ifndef LSHFAST_READ_AT_H
#define LSHFAST_READ_AT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef _WIN32
#include <io.h>
#include <stdio.h>
#else
#include <unistd.h>
#endif

#define READ_AT_ONCE ((size_t)1 << 30) /* some systems refuse to read 2 GB */

/* Read size bytes at offset `at` to out. Returns how many were read: fewer at the end of the file, and after an error, whose
 * number is then in *error, else 0. */
static inline size_t read_at(int file, int64_t at, size_t size, uint8_t *out, int *error) {
    size_t done = 0;
    *error = 0;
    while (done < size) {
        const size_t wanted = size - done < READ_AT_ONCE ? size - done : READ_AT_ONCE;
#ifdef _WIN32
        const int64_t got = _lseeki64(file, at + (int64_t)done, SEEK_SET) < 0 ? -1 : _read(file, out + done, (unsigned)wanted);
#else
        const ssize_t got = pread(file, out + done, wanted, (off_t)(at + (int64_t)done));
#endif
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) *error = errno;
        if (got <= 0) break;
        done += (size_t)got;
    }
    return done;
}

#endif
