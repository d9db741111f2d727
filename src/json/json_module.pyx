"""The scanner of JSON lines: texts decoded into one buffer, without a Python object each and without the GIL."""

cimport cython
from cpython.pyport cimport PY_SSIZE_T_MAX
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport SIZE_MAX, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memmove

import os

import numpy as np

from lshfast.kernels.cpu cimport level_in_use
from lshfast.kernels.guards cimport WORK, aligned, array_of, pause, product_of, sum_of

cdef extern from "json/json.h":
    const size_t JSON_PADDING
    const size_t JSON_KEYS
    struct json_kernels:
        pass
    const json_kernels** json_levels
    struct json_names:
        const uint8_t* name[4]
        size_t length[4]
        size_t count
    enum json_form:
        JSON_MISSING
        JSON_PLAIN_STRING
        JSON_VALUE
    struct json_member:
        const uint8_t* start
        const uint8_t* stop
        json_form form
    enum json_state:
        JSON_BLANK
        JSON_UNDECIDED
        JSON_DECIDED
    struct json_row:
        json_state state
        size_t length
        json_member keys[3]
    const uint8_t* json_line(const json_kernels*, const json_names*, const uint8_t*, const uint8_t*, json_row*,
                             uint8_t*) nogil

cdef extern from "json/read_at.h":
    size_t read_at(int, int64_t, size_t, uint8_t*, int*) nogil

cdef const int* in_use = level_in_use()

# The bytes behind the scanned ones that must be readable.
PADDING = JSON_PADDING


cdef enum:
    LIKELY_BYTES = 1024  # of a line; for more and shorter ones, memory is taken again


cdef struct Line:
    int64_t number
    int64_t start
    int64_t stop
    json_row row


@cython.auto_pickle(False)
@cython.final
cdef class ScannedLines:
    """The rows of some lines, without those of white space.

    Attributes
    ----------
    count : int
        The number of lines, blank ones included.
    end : int
        Where they end in the data.
    lines : int64 array of shape (n,)
        The line of each row, from 0.
    starts, stops : int64 arrays of shape (n,)
        Where the line of each row begins and ends in the data, without its LF.
    offsets : int64 array of shape (n + 1,)
        The text of row i is ``texts[offsets[i]:offsets[i + 1]]``; empty for null, and for undecided rows.
    texts : uint8 array
        All texts, in UTF-8.
    undecided : int64 array of shape (m,)
        The rows that another parser has to read: malformed ones, those without a text, and rare others.
    """
    cdef readonly object count, end, lines, starts, stops, offsets, texts, undecided
    cdef object data
    cdef Line* held
    cdef size_t rows, keys

    def __dealloc__(self):
        free(self.held)

    cdef _describe(self, size_t most, uint8_t[::1] out, size_t used):
        cdef Py_ssize_t i, n = self.rows
        self.lines, self.starts, self.stops = (np.empty(n, np.int64) for _ in range(3))
        self.offsets, undecided_array = np.zeros(n + 1, np.int64), np.zeros(n, np.uint8)
        cdef int64_t[::1] lines = self.lines, starts = self.starts, stops = self.stops, offsets = self.offsets
        cdef uint8_t[::1] undecided = undecided_array
        for i in range(n):
            lines[i], starts[i], stops[i] = self.held[i].number, self.held[i].start, self.held[i].stop
            offsets[i + 1] = offsets[i] + <int64_t>self.held[i].row.length
            undecided[i] = self.held[i].row.state != JSON_DECIDED
        self.undecided = np.flatnonzero(undecided_array)
        found = array_of(out)[:used]
        self.texts = found.copy() if used < most // 4 * 3 else found  # hardly filled: do not hold all of it

    def values(self, size_t key, loads):
        """Return the values of a key (0 or 1) as Python objects: None in rows without it, and in undecided rows.

        `loads` parses the bytes of values that are not strings without escapes. The data must be as they were scanned.
        """
        cdef const json_member* found
        cdef Py_ssize_t i, n = self.rows
        cdef list out = [None] * n
        if key >= self.keys:
            raise IndexError(f"key must be less than {self.keys}, not {key}")
        for i in range(n):
            found = &self.held[i].row.keys[key]
            if self.held[i].row.state != JSON_DECIDED or found.form == JSON_MISSING:
                continue
            if found.form == JSON_PLAIN_STRING:
                out[i] = PyUnicode_DecodeUTF8(<const char*>found.start, found.stop - found.start, NULL)
            else:
                out[i] = loads((<const char*>found.start)[:found.stop - found.start])
        return out


cdef int _reserve(ScannedLines made, size_t* room, size_t wanted) except -1 with gil:
    """Make room for so many rows."""
    cdef Line* larger = <Line*>realloc(made.held, product_of(wanted, sizeof(Line)))
    if larger == NULL:
        raise MemoryError(f"{wanted:,} rows of a block do not fit into memory")
    made.held, room[0] = larger, wanted
    return 0


cdef int _append(ScannedLines made, size_t* room, const Line* line) except -1 nogil:
    if made.rows == room[0]:
        _reserve(made, room, 2 * room[0])
    made.held[made.rows] = line[0]
    made.rows += 1
    return 0


cdef json_names _names_of(bytes text, tuple keys) except *:
    cdef json_names names
    cdef size_t i
    cdef bytes name
    if len(keys) > JSON_KEYS:
        raise ValueError(f"there must be at most {JSON_KEYS} keys, not {len(keys)}")
    for i, name in enumerate((text, *keys)):
        names.name[i], names.length[i] = <const uint8_t*><const char*>name, len(name)
    names.count = 1 + len(keys)
    return names


def scan(const uint8_t[::1] data not None, Py_ssize_t start, Py_ssize_t end, bytes text not None, tuple keys=(),
         Py_ssize_t most_lines=PY_SSIZE_T_MAX):
    """Scan the lines of data[start:end] for the string `text` and for up to JSON_KEYS other members of each object.

    Parameters
    ----------
    data : bytes-like
        It must be `PADDING` bytes longer than `end`.
    start, end : int
        The lines; the last one may lack its LF.
    text : bytes
        The name of the texts in UTF-8. A name is that of a member of the object itself, and not of objects in it.
    keys : tuple of bytes
        The names of other members, whose values `ScannedLines.values` returns.
    most_lines : int
        The number of lines, at least 1, after which the scan ends.

    Returns
    -------
    ScannedLines

    Raises
    ------
    ValueError
        If the range is not in the data or too near its end, there are too many keys, or `most_lines` is below 1.
    """
    cdef json_names names = _names_of(text, keys)
    cdef ScannedLines made = ScannedLines.__new__(ScannedLines)
    cdef Line line
    cdef const uint8_t* first
    cdef const uint8_t* at
    cdef const uint8_t* stop
    cdef const uint8_t* next_line
    cdef size_t room = 0, used = 0, most, done = 0
    cdef uint64_t last_pause = 0
    cdef int64_t number = 0
    if not 0 <= start <= end <= len(data) - <Py_ssize_t>JSON_PADDING:
        raise ValueError(f"start and end must be in 0..{len(data) - <Py_ssize_t>JSON_PADDING}, not {start} and {end}")
    if most_lines < 1:
        raise ValueError(f"most_lines must be at least 1, not {most_lines}")
    most = end - start
    out_array = np.empty(sum_of(most, JSON_PADDING), np.uint8)
    cdef uint8_t[::1] out = out_array
    made.data, made.keys = array_of(data), len(keys)
    _reserve(made, &room, 64 + most // LIKELY_BYTES)
    first = &data[0]
    at, stop = first + start, first + end
    with nogil:
        while at < stop and number < most_lines:
            next_line = json_line(json_levels[in_use[0]], &names, at, stop, &line.row, &out[used])
            line.number, line.start = number, at - first
            line.stop = next_line - first - (next_line[-1] == c"\n")
            number += 1
            done += next_line - at
            at = next_line
            if line.row.state != JSON_BLANK:
                used += line.row.length
                _append(made, &room, &line)
            if done >= WORK:
                done = 0
                pause(&last_pause)
    made.count, made.end = number, at - first
    made._describe(most, out, used)
    return made


def scan_spans(const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] stops not None,
               bytes text not None):
    """Scan the lines data[starts[i]:stops[i]], which contain no LF, as `scan` does; row i is line i.

    Raises
    ------
    ValueError
        If a line is not in the data or too near its end, or there are not as many starts as stops.
    """
    cdef json_names names = _names_of(text, ())
    cdef ScannedLines made = ScannedLines.__new__(ScannedLines)
    cdef Line line
    cdef Py_ssize_t i, n = len(starts), end = len(data) - <Py_ssize_t>JSON_PADDING
    cdef size_t room = 0, used = 0, most = 0, done = 0
    cdef uint64_t last_pause = 0
    starts, stops = aligned(starts), aligned(stops)
    if len(stops) != n:
        raise ValueError(f"there must be as many stops as starts, not {len(stops)} and {n}")
    for i in range(n):
        if not 0 <= starts[i] < stops[i] <= end:
            raise ValueError(f"lines must be in 0..{end} and not empty, not {starts[i]} to {stops[i]}")
        most = sum_of(most, stops[i] - starts[i])
    out_array = np.empty(sum_of(most, JSON_PADDING), np.uint8)
    cdef uint8_t[::1] out = out_array
    made.data, made.keys, made.count, made.end = array_of(data), 0, n, end
    _reserve(made, &room, n + 1)
    with nogil:
        for i in range(n):
            json_line(json_levels[in_use[0]], &names, &data[starts[i]], &data[0] + stops[i], &line.row, &out[used])
            line.number, line.start, line.stop = i, starts[i], stops[i]
            used += line.row.length
            _append(made, &room, &line)
            done += stops[i] - starts[i]
            if done >= WORK:
                done = 0
                pause(&last_pause)
    made._describe(most, out, used)
    return made


def line_ends(const uint8_t[::1] data not None, size_t start, size_t end):
    """Return the places of all LF in data[start:end], ascending: int64 (n,)."""
    if not start <= end <= <size_t>len(data):
        raise ValueError(f"start and end must be in 0..{len(data)}, ascending, not {start} and {end}")
    found = np.empty(_ends_of(data, start, end, None), np.int64)
    _ends_of(data, start, end, found)
    return found


cdef size_t _ends_of(const uint8_t[::1] data, size_t start, size_t end, int64_t[::1] out) except? 0:
    """Count the LF in data[start:end], and write their places to `out` if it is not None, as many as it has room for."""
    cdef size_t n = 0, before = start, most = SIZE_MAX if out is None else <size_t>len(out)
    cdef bint write = out is not None
    cdef const uint8_t* at
    cdef uint64_t last_pause = 0
    with nogil:
        while start < end and n < most:
            at = <const uint8_t*>memchr(&data[start], c"\n", end - start)
            if at == NULL:
                break
            start = at - &data[0]
            if write:
                out[n] = start
            n += 1
            start += 1
            if start - before >= WORK:
                before = start
                pause(&last_pause)
    return n


def join_lines(uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] stops not None,
               Py_ssize_t end):
    """Move lines to the beginning of `data`, one behind the other, each with LF at its end.

    Parameters
    ----------
    data : uint8 array or bytearray
        The data are data[:end], and there is room for one byte more.
    starts, stops : int64 arrays of shape (n,)
        Where each line begins, and ends without its line end; ascending.
    end : int
        Where the data end.

    Returns
    -------
    int
        The bytes of the lines; -1 if LF or CR is not behind each line that ends before the data do.

    Raises
    ------
    ValueError
        If a line is not in the data or not behind the one before, or there are not as many starts as stops.
    """
    cdef Py_ssize_t i, n = len(starts)
    cdef int64_t behind = 0, to = 0
    cdef size_t size, done = 0
    cdef uint64_t last_pause = 0
    cdef uint8_t* bytes_of_lines
    cdef uint8_t line_end
    cdef bint are_lines = True
    starts, stops = aligned(starts), aligned(stops)
    if len(stops) != n:
        raise ValueError(f"there must be as many stops as starts, not {len(stops)} and {n}")
    if not 0 <= end < max(1, len(data)):
        raise ValueError(f"end must be in 0..{max(0, len(data) - 1)}, not {end}")
    for i in range(n):
        if not behind <= starts[i] <= stops[i] <= end:
            raise ValueError(f"lines must be in {behind}..{end}, not {starts[i]} to {stops[i]}")
        behind = stops[i] + 1
    if n == 0:
        return 0
    bytes_of_lines = &data[0]
    with nogil:
        for i in range(n):
            line_end = bytes_of_lines[stops[i]]
            if stops[i] < end and line_end != c"\n" and line_end != c"\r":
                are_lines = False
                break
            size = stops[i] - starts[i]
            if to != starts[i]:
                memmove(bytes_of_lines + to, bytes_of_lines + starts[i], size)
            to += size
            bytes_of_lines[to] = c"\n"
            to += 1
            done += size
            if done >= WORK:
                done = 0
                pause(&last_pause)
    return to if are_lines else -1


def read_spans(int file, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
               uint8_t[::1] out not None):
    """Read spans of an open file, one behind the other, to the beginning of `out`; the GIL is released only once.

    Parameters
    ----------
    file : int
        The number of a file that the operating system has opened.
    starts, sizes : int64 arrays of shape (n,)
        Where each span begins in the file, and its bytes.
    out : uint8 array
        It must have room for all spans.

    Returns
    -------
    bool
        Whether the file has all spans.

    Raises
    ------
    ValueError
        If a start or size is negative, or the spans do not fit.
    OSError
        If the file cannot be read.
    """
    cdef Py_ssize_t i, n = len(starts)
    cdef size_t done = 0, paused = 0, total = 0, got
    cdef uint64_t last_pause = 0
    cdef int error = 0
    starts, sizes = aligned(starts), aligned(sizes)
    if len(sizes) != n:
        raise ValueError(f"there must be as many starts as sizes, not {n} and {len(sizes)}")
    for i in range(n):
        if starts[i] < 0 or sizes[i] < 0:
            raise ValueError(f"starts and sizes must not be negative, not {starts[i]} and {sizes[i]}")
        total = sum_of(total, sizes[i])
    if total > <size_t>len(out):
        raise ValueError(f"the spans have {total} bytes, and out has room for {len(out)}")
    if total == 0:
        return True
    with nogil:
        for i in range(n):
            got = read_at(file, starts[i], sizes[i], &out[0] + done, &error)
            done += got
            if got < <size_t>sizes[i]:
                break
            if done - paused >= WORK:
                paused = done
                pause(&last_pause)
    if error:
        raise OSError(error, os.strerror(error))
    return done == total
