"""Sorted trees over signatures: runs of rows in the order of each tree, and the searches in them."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import math
import mmap
from contextlib import suppress

import numpy as np

from lshfast.kernels.guards cimport aligned, aligned_rows, pause, product_of, sum_of

cdef extern from "rows.h":
    bint are_below(const int64_t*, size_t, size_t) nogil

cdef extern from "sketch/sketch.h":
    const size_t SKETCH_MAX_SLOTS

cdef extern from "trees/trees.h":
    const size_t TREES_MOST_LEVELS, TREES_MOST_ROWS
    const uint64_t EMPTY_SLOT
    struct tree_shape:
        size_t k, deep, levels, trees
    struct c_run "run":
        const uint64_t* codes
        const uint32_t* rows
        const uint64_t* fences
        size_t n, group, fence_words
    struct c_forest "forest":
        tree_shape shape
        const uint64_t* signatures
        const uint64_t* marks
        const uint8_t* live
        const int64_t* sizes
        size_t row_count
        const c_run* runs
        size_t run_count
        const uint32_t* loose
        size_t loose_count
    struct step:
        uint32_t tree, depth, enough
    size_t trees_levels_of(size_t, size_t) nogil
    unsigned trees_code_bits(size_t, size_t) nogil
    void trees_codes(const tree_shape*, const uint64_t*, uint64_t*, size_t) nogil
    size_t trees_mark_words(size_t) nogil
    void trees_marks(const uint64_t*, size_t, uint64_t*) nogil
    void trees_lay_out_fences(c_run*) nogil
    void trees_set_fences(const c_run*, const uint64_t*, uint64_t*) nogil
    void trees_sort_codes(uint64_t*, uint32_t*, size_t, uint64_t*, uint32_t*) nogil
    size_t trees_merge_codes(const uint64_t*, const uint32_t*, size_t, const uint64_t*, const uint32_t*, size_t,
                             const uint8_t*, uint64_t*, uint32_t*) nogil
    double trees_mean_group(const uint64_t*, size_t, unsigned) nogil
    size_t trees_room_words(const c_forest*) nogil
    size_t trees_seen_words(const c_forest*) nogil
    uint32_t trees_match_row(uint64_t) nogil
    size_t trees_match_agreement(uint64_t) nogil
    size_t trees_top(const c_forest*, const uint64_t*, const step*, size_t, size_t, uint64_t*, uint64_t*,
                     uint64_t*) nogil
    size_t trees_within(const c_forest*, const uint64_t*, int64_t, const step*, const uint32_t*, double, double,
                        uint32_t*, double*, size_t, uint64_t*, uint64_t*) nogil

# Levels of a tree; rows are numbered below the second.
MOST_LEVELS = TREES_MOST_LEVELS
MOST_ROWS = TREES_MOST_ROWS

# Matches of `Snapshot.within` that there is room for at first.
FIRST_PIECE = 1 << 8

cdef enum:
    SOME = 64  # queries between two calls of pause()

# Trees of a run in which its crowds are counted.
SAMPLE = 4


# From so many bytes on arrays are given huge pages of so many, where the system has them.
LARGE = 1 << 22
HUGE_PAGE = 1 << 21


def large_empty(shape, dtype):
    """Return an array that is not prepared, in memory for random reads: in huge pages if it is large and they exist.

    A search reads a few hundred cache lines all over the arrays; with pages of 4 KB looking up where they are costs it
    a fifth of its time or more.
    """
    cdef size_t nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    if nbytes < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(shape, dtype)
    pages = mmap.mmap(-1, sum_of(nbytes, HUGE_PAGE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without them
        pages.madvise(mmap.MADV_HUGEPAGE)
    memory = np.frombuffer(pages, np.uint8)
    start = -memory.ctypes.data % HUGE_PAGE
    return memory[start:start + nbytes].view(dtype).reshape(shape)


def slot_marks(const uint64_t[:, ::1] signatures not None):
    """Return the marks of signatures, (n, k): uint64 (n, 2 ceil(k / 16))."""
    signatures = aligned_rows(signatures)
    cdef size_t i, n = signatures.shape[0], k = signatures.shape[1]
    _check_slots(k)
    out_array = np.empty((n, trees_mark_words(k)), np.uint64)
    cdef uint64_t[:, ::1] out = out_array
    if n:
        with nogil:
            for i in range(n):
                trees_marks(&signatures[0, 0] + i * k, k, &out[0, 0] + i * trees_mark_words(k))
    return out_array


cdef _check_slots(size_t k):
    if not 1 <= k <= SKETCH_MAX_SLOTS:
        raise ValueError(f"signatures must have at least one slot and at most {SKETCH_MAX_SLOTS}, not {k}")


cdef tree_shape _shape(size_t k, size_t trees, bint singles) except *:
    _check_slots(k)
    if not 1 <= trees <= k:
        raise ValueError(f"trees must be in 1..{k}, the length of the signatures, not {trees}")
    return tree_shape(k, trees, trees_levels_of(k, trees), k if singles else trees)


@cython.auto_pickle(False)
cdef class Run:
    """Rows in the order of each tree, immutable: made by `build` from signatures, or by `merge` from two runs.

    Attributes
    ----------
    members : ndarray of int64, shape (n,)
        The rows, in the order of the first tree.
    codes : ndarray of uint64, shape (trees, n)
        Ascending in each tree.
    rows : ndarray of uint32, shape (trees, n)
        In the order of the codes.
    crowds : ndarray of float64, shape (levels,)
        How many rows of the run share the first 1, 2, ... levels with a row of it, itself included, in the mean over
        its rows and some of the trees.
    """
    cdef object held_codes, held_rows, held_fences, held_crowds
    cdef tree_shape shape
    cdef c_run held
    cdef size_t limit  # all rows are below it

    def __init__(self):
        raise TypeError("make runs by Run.build and Run.merge")

    def __len__(self):
        return self.held.n

    @property
    def nbytes(self):
        """Bytes of all arrays."""
        return self.held_codes.nbytes + self.held_rows.nbytes + self.held_fences.nbytes

    # Copies: what searches follow is nobody else's to write.

    @property
    def members(self):
        return self.held_rows[0].astype(np.int64)

    @property
    def codes(self):
        return self.held_codes.copy()

    @property
    def rows(self):
        return self.held_rows.copy()

    @property
    def crowds(self):
        return self.held_crowds.copy()

    @staticmethod
    def build(const uint64_t[:, ::1] signatures not None, const int64_t[::1] rows not None, size_t trees,
              bint singles=False):
        """Return the run of these rows of the signatures, (n, k): none of them empty, each once.

        With `singles` each slot that is not the first of a tree has a tree of its own, behind the others.
        """
        signatures, rows = aligned_rows(signatures), aligned(rows)
        cdef size_t i, t, n = len(rows), count = signatures.shape[0], k = signatures.shape[1]
        cdef tree_shape shape = _shape(k, trees, singles)
        if n and not are_below(&rows[0], n, count):
            raise ValueError(f"rows must be in 0..{<int64_t>count - 1}")
        for i in range(n):
            if signatures[rows[i], 0] == EMPTY_SLOT:
                raise ValueError(f"row {rows[i]} is that of an empty set")
        cdef Run run = _new_run(shape, n, count)
        cdef uint64_t[:, ::1] codes = run.held_codes
        cdef uint32_t[:, ::1] own = run.held_rows
        cdef uint64_t[::1] scratch_codes = np.empty(n, np.uint64)
        cdef uint32_t[::1] scratch_rows = np.empty(n, np.uint32)
        if n:
            with nogil:
                for i in range(n):
                    trees_codes(&shape, &signatures[0, 0] + <size_t>rows[i] * k, &codes[0, 0] + i, n)
                for t in range(shape.trees):
                    for i in range(n):
                        (&own[t, 0])[i] = <uint32_t>rows[i]
                    trees_sort_codes(&codes[t, 0], &own[t, 0], n, &scratch_codes[0], &scratch_rows[0])
        return _sealed(run)

    @staticmethod
    def merge(Run a not None, Run b not None, const uint8_t[::1] live not None):
        """Return one run of the rows of two of the same shape, less those r for which live[r] is 0.

        No row may be in both.
        """
        cdef size_t i, t, n = 0, many = a.held.n, few = b.held.n
        if a.shape.k != b.shape.k or a.shape.deep != b.shape.deep or a.shape.trees != b.shape.trees:
            raise ValueError(
                f"runs of {a.shape.trees} and {b.shape.trees} trees over {a.shape.k} and {b.shape.k} slots do not merge"
            )
        if <size_t>len(live) < max(a.limit, b.limit):
            raise ValueError(f"live must tell of {max(a.limit, b.limit)} rows, not {len(live)}")
        cdef const uint8_t[::1] still = np.array(live, np.uint8)  # a copy: n must not change under way
        for i in range(many):
            n += still[a.held.rows[i]] != 0
        for i in range(few):
            n += still[b.held.rows[i]] != 0
        cdef Run run = _new_run(a.shape, n, max(a.limit, b.limit))
        cdef uint64_t[:, ::1] codes = run.held_codes
        cdef uint32_t[:, ::1] rows = run.held_rows
        if n:
            with nogil:
                for t in range(run.shape.trees):
                    trees_merge_codes(a.held.codes + t * many, a.held.rows + t * many, many, b.held.codes + t * few,
                                b.held.rows + t * few, few, &still[0], &codes[t, 0], &rows[t, 0])
        return _sealed(run)


cdef Run _new_run(tree_shape shape, size_t n, size_t limit):
    if limit > TREES_MOST_ROWS:
        raise ValueError(f"at most {MOST_ROWS} rows can be numbered, not {limit}")
    cdef Run run = Run.__new__(Run)
    run.shape, run.limit = shape, limit
    run.held.n = n
    trees_lay_out_fences(&run.held)
    run.held_codes = large_empty((shape.trees, n), np.uint64)
    run.held_rows = large_empty((shape.trees, n), np.uint32)
    run.held_fences = large_empty((shape.trees, run.held.fence_words), np.uint64)
    run.held_crowds = np.zeros(shape.levels)
    return run


cdef Run _sealed(Run run):
    """Set the fences, count the crowds, and note where things are."""
    cdef size_t t, level, n = run.held.n, every = (run.shape.deep + SAMPLE - 1) // SAMPLE, sampled = 0
    cdef uint64_t[:, ::1] codes = run.held_codes, fences = run.held_fences
    cdef uint32_t[:, ::1] rows = run.held_rows
    cdef double[::1] crowds = run.held_crowds
    if n:
        run.held.codes, run.held.rows = &codes[0, 0], &rows[0, 0]
        if run.held.fence_words:
            run.held.fences = &fences[0, 0]
        with nogil:
            for t in range(run.shape.trees):
                if run.held.fence_words:
                    trees_set_fences(&run.held, &codes[t, 0], &fences[t, 0])
                if t < run.shape.deep and t % every == 0:
                    sampled += 1
                    for level in range(run.shape.levels):
                        crowds[level] += trees_mean_group(&codes[t, 0], n, trees_code_bits(run.shape.levels, level + 1))
        run.held_crowds /= sampled
    return run


@cython.auto_pickle(False)
cdef class Snapshot:
    """What searches need of a forest at one moment; immutable, and safe to share between threads.

    The arrays of rows are not copied. Rows that are not named here may be written, and `live` may fall to 0.

    Parameters
    ----------
    signatures : ndarray of uint64, shape (r, k)
    marks : ndarray of uint64, shape (r, 2 ceil(k / 16))
        Those that `slot_marks` gives.
    live : ndarray of uint8, shape (r,)
        0 for rows that no search may give.
    sizes : ndarray of int64, shape (r,), or None
        Of the sets, positive where a row is live and not empty; `within` needs them.
    trees : int
        L, in 1..k.
    groups : sequence of sequences of Run
        Runs of L trees over k slots of these rows.
    loose : sequence of int
        Rows, not empty, that are in no run.
    steps : ndarray of uint32, shape (s, 3)
        What searches do, one after the other: go into a tree, to rows that share so many levels with the query; and for
        `top`, how many equal slots the last of k rows must have for the search to end there.
    spare : list
        Where searches leave their memory for the next one.
    singles : bool, default False
        Whether the runs have single trees.
    """
    cdef c_forest forest
    cdef object owners
    cdef bytearray memory
    cdef list spare
    cdef size_t groups, step_count
    cdef const step* steps
    cdef bint is_ready

    def __cinit__(self, const uint64_t[:, ::1] signatures not None, const uint64_t[:, ::1] marks not None,
                  const uint8_t[::1] live not None, const int64_t[::1] sizes, size_t trees, groups, loose,
                  const uint32_t[:, ::1] steps not None, list spare not None, bint singles=False):
        signatures, marks, steps = aligned_rows(signatures), aligned_rows(marks), aligned_rows(steps)
        if sizes is not None:
            sizes = aligned(sizes)
        cdef size_t n = signatures.shape[0], k = signatures.shape[1], number = 0, group
        cdef tree_shape shape = _shape(k, trees, singles)
        cdef const int64_t[::1] wide = np.array(loose, np.int64)
        cdef const uint32_t[::1] apart = np.asarray(wide).astype(np.uint32)
        cdef Run run
        if n > TREES_MOST_ROWS:
            raise ValueError(f"at most {MOST_ROWS} rows can be numbered, not {n}")
        if <size_t>marks.shape[0] != n or <size_t>marks.shape[1] != trees_mark_words(k):
            raise ValueError(f"marks must be ({n}, {trees_mark_words(k)}), not ({marks.shape[0]}, {marks.shape[1]})")
        if <size_t>len(live) != n or sizes is not None and <size_t>len(sizes) != n:
            raise ValueError(f"live and sizes must tell of {n} rows")
        if len(wide) and not are_below(&wide[0], len(wide), n):
            raise ValueError(f"loose rows must be in 0..{<int64_t>n - 1}")
        self._set_steps(steps, shape)
        runs = []
        for group, members in enumerate(groups):
            for run in members:
                runs.append((run, group))
        self.memory = bytearray(max(1, len(runs)) * sizeof(c_run))
        cdef c_run* held = <c_run*><char*>self.memory
        for run, group in runs:
            if run.shape.k != k or run.shape.deep != trees or run.shape.trees != shape.trees or run.limit > n:
                raise ValueError(
                    f"a run of {run.shape.trees} trees over {run.limit} rows of {run.shape.k} slots is not one of "
                    f"{shape.trees} trees over {n} rows of {k} slots"
                )
            held[number] = run.held
            held[number].group = group
            number += 1
        self.groups, self.spare = len(groups), spare
        self.owners = signatures, marks, live, sizes, runs, apart, steps
        self.forest.shape, self.forest.row_count = shape, n
        self.forest.runs, self.forest.run_count, self.forest.loose_count = held, number, len(apart)
        if n:
            self.forest.signatures, self.forest.marks, self.forest.live = &signatures[0, 0], &marks[0, 0], &live[0]
            if sizes is not None:
                self.forest.sizes = &sizes[0]
        if len(apart):
            self.forest.loose = &apart[0]

    def __init__(self, *arguments, **options):
        if self.is_ready:
            raise TypeError("Snapshot is immutable")
        self.is_ready = True

    cdef const uint64_t* _queries(self, const uint64_t[:, ::1] queries) except? NULL:
        if <size_t>queries.shape[1] != self.forest.shape.k:
            raise ValueError(f"queries must have {self.forest.shape.k} slots, not {queries.shape[1]}")
        return &queries[0, 0] if queries.shape[0] else NULL

    cdef _set_steps(self, const uint32_t[:, ::1] steps, tree_shape shape):
        cdef size_t i
        if steps.shape[1] != 3:
            raise ValueError(f"steps must be (s, 3), not ({steps.shape[0]}, {steps.shape[1]})")
        self.step_count = steps.shape[0]
        for i in range(self.step_count):
            if steps[i, 0] >= shape.trees or not 1 <= steps[i, 1] <= shape.levels:
                raise ValueError(
                    f"steps must go into trees 0..{shape.trees - 1}, to depths 1..{shape.levels}, not {steps[i, 0]}, "
                    f"{steps[i, 1]}"
                )
        self.steps = <const step*>&steps[0, 0] if self.step_count else NULL

    cdef _borrow(self):
        """Return zeros for one search at a time, to be given back to `spare` afterwards."""
        try:
            seen = self.spare.pop()
        except IndexError:
            seen = None
        if seen is None or <size_t>len(seen) < trees_seen_words(&self.forest):
            return np.zeros(trees_seen_words(&self.forest), np.uint64)
        return seen

    def top(self, const uint64_t[:, ::1] queries not None, size_t k):
        """Return (offsets, rows, agreements), int64: the k best rows of each query met before its search may end.

        Rows come by (agreement descending, row ascending).
        """
        queries = aligned_rows(queries)
        cdef const uint64_t* query = self._queries(queries)
        cdef size_t m = queries.shape[0], i, total = 0, most = 1, words
        cdef uint64_t last_pause = 0
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        if self.forest.row_count:
            most = min(k, self.forest.row_count)
        offsets_array, seen_array = np.zeros(m + 1, np.int64), self._borrow()
        cdef int64_t[::1] offsets = offsets_array, rows, agreements
        cdef uint64_t[::1] seen = seen_array
        words = sum_of(trees_room_words(&self.forest), product_of(m, most))
        cdef uint64_t* room = <uint64_t*>PyMem_Malloc(product_of(words, sizeof(uint64_t)))
        if room == NULL:
            raise MemoryError
        cdef uint64_t* best = room + trees_room_words(&self.forest)
        try:
            with nogil:
                for i in range(m):
                    total += trees_top(&self.forest, query + i * self.forest.shape.k, self.steps, self.step_count, most,
                                        best + total, room, &seen[0])
                    offsets[i + 1] = <int64_t>total
                    if i % SOME == SOME - 1:
                        pause(&last_pause)
            self.spare.append(seen_array)
            rows_array, agreements_array = np.empty(total, np.int64), np.empty(total, np.int64)
            rows, agreements = rows_array, agreements_array
            for i in range(total):
                rows[i], agreements[i] = trees_match_row(best[i]), <int64_t>trees_match_agreement(best[i])
        finally:
            PyMem_Free(room)
        return offsets_array, rows_array, agreements_array

    def within(self, const uint64_t[:, ::1] queries not None, const int64_t[::1] query_sizes not None,
               const uint32_t[:, ::1] counts not None, double threshold, double slack=0.0):
        """Return (offsets, rows, containments), int64, int64 and float64: the rows met that hold enough of each query.

        Query i, of query_sizes[i] elements, takes the first counts[i, g] steps in each run of group g; the rows whose
        containment reaches the threshold are given, in no order. With a slack above 0, so are rows whose number of equal
        slots is at most so many standard errors below the number expected at the threshold.
        """
        queries, query_sizes, counts = aligned_rows(queries), aligned(query_sizes), aligned_rows(counts)
        cdef const uint64_t* query = self._queries(queries)
        cdef size_t m = queries.shape[0], i, g, total = 0, found = 0, capacity = FIRST_PIECE
        cdef uint64_t last_pause = 0
        if <size_t>len(query_sizes) != m:
            raise ValueError(f"as many sizes as queries are needed, not {len(query_sizes)} and {m}")
        if <size_t>counts.shape[0] != m or <size_t>counts.shape[1] != self.groups:
            raise ValueError(f"counts must be ({m}, {self.groups}), not ({counts.shape[0]}, {counts.shape[1]})")
        if self.forest.sizes == NULL and self.forest.row_count:
            raise ValueError("the rows have no sizes")
        for i in range(m):
            if query_sizes[i] < 1:
                raise ValueError(f"sizes of queries must be at least 1, not {query_sizes[i]}")
            for g in range(self.groups):
                if counts[i, g] > self.step_count:
                    raise ValueError(f"counts must be in 0..{self.step_count}, the steps there are, not {counts[i, g]}")
        offsets_array, seen_array = np.zeros(m + 1, np.int64), self._borrow()
        rows_array, containments_array = np.empty(capacity, np.uint32), np.empty(capacity)
        cdef int64_t[::1] offsets = offsets_array
        cdef uint32_t[::1] rows = rows_array
        cdef double[::1] containments = containments_array
        cdef uint64_t[::1] room = np.empty(trees_room_words(&self.forest), np.uint64), seen = seen_array
        for i in range(m):
            while True:
                with nogil:
                    found = trees_within(&self.forest, query + i * self.forest.shape.k, query_sizes[i], self.steps,
                                          &counts[i, 0] if self.groups else NULL, threshold, slack, &rows[0] + total,
                                          &containments[0] + total, capacity - total, &room[0], &seen[0])
                if found <= capacity - total:
                    break
                capacity = 2 * (total + found)
                rows_array = np.concatenate([rows_array[:total], np.empty(capacity - total, np.uint32)])
                containments_array = np.concatenate([containments_array[:total], np.empty(capacity - total)])
                rows, containments = rows_array, containments_array
            total += found
            offsets[i + 1] = <int64_t>total
            if i % SOME == SOME - 1:
                pause(&last_pause)
        self.spare.append(seen_array)
        return offsets_array, rows_array[:total].astype(np.int64), containments_array[:total].copy()


cdef void codes_of_trees(const uint64_t* signature, size_t k, size_t trees, uint64_t* out) noexcept nogil:
    cdef tree_shape shape = tree_shape(k, trees, trees_levels_of(k, trees), trees)
    trees_codes(&shape, signature, out, 1)
