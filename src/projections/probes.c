/* Query-directed multi-probe: cells around a position by their distance, best first. */
#include "bands/bands.h"
#include "projections/projections.h"

#include <string.h>

NO_CONTRACTION

static inline size_t at_most(size_t a, size_t b) { return a < b ? a : b; }

static inline double below_half(double fraction) { return fraction <= 1.0 - fraction ? fraction : 1.0 - fraction; }

static inline double above_half(double fraction) { return fraction <= 1.0 - fraction ? 1.0 - fraction : fraction; }

/* The nearer walls of all lines come first, sorted, and then the farther ones, in the opposite order of their lines: the
 * nearer one is, the farther is the other. */
void projections_walls(const double *fractions, size_t rows, struct wall_set *heap, struct walls *walls) {
    size_t near = at_most(rows, PROJECTIONS_WALLS), held = 0;
    double distances[PROJECTIONS_WALLS];
    for (size_t i = 0; i < rows; i++) {
        double distance = below_half(fractions[i]);
        size_t at = held;
        if (held == near && !(distance < distances[near - 1])) continue;
        if (held == near) at--;
        else held++;
        for (; at > 0 && distance < distances[at - 1]; at--) {
            distances[at] = distances[at - 1];
            walls->line[at] = walls->line[at - 1];
        }
        distances[at] = distance;
        walls->line[at] = (uint32_t)i;
    }
    walls->count = rows > PROJECTIONS_WALLS / 2 ? PROJECTIONS_WALLS : 2 * rows;
    for (size_t w = 0; w < walls->count; w++) {
        int far = w >= rows;
        size_t other = 2 * rows - 1 - w;
        if (far) walls->line[w] = walls->line[other];
        double fraction = fractions[walls->line[w]], distance = far ? above_half(fraction) : below_half(fraction);
        int down = fraction <= 1.0 - fraction;
        walls->squares[w] = distance * distance;
        walls->step[w] = (int8_t)(down != far ? -1 : 1);
        walls->excluded[w] = other < walls->count ? (uint64_t)1 << other : 0;
    }
    walls->heap = heap;
    walls->heap[0].score = 0;
    walls->heap[0].walls = 0;
    walls->waiting = 1;
}

static inline int comes_before(struct wall_set a, struct wall_set b) {
    return a.score < b.score || (a.score == b.score && a.walls < b.walls);
}

/* From the nearest wall on: a set never scores more than one with a wall added, or the last moved outwards. */
static inline double score_of(const struct walls *walls, uint64_t set) {
    double score = 0;
    for (; set; set &= set - 1) score += walls->squares[lowest_bit(set)];
    return score;
}

static void push(struct walls *walls, uint64_t set) {
    struct wall_set added = {score_of(walls, set), set};
    size_t at = walls->waiting++;
    for (; at > 0 && comes_before(added, walls->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        walls->heap[at] = walls->heap[(at - 1) / 2];
    }
    walls->heap[at] = added;
}

static uint64_t pop(struct walls *walls) {
    struct wall_set *heap = walls->heap, last = heap[--walls->waiting];
    uint64_t best = heap[0].walls;
    size_t at = 0, n = walls->waiting;
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && comes_before(heap[child + 1], heap[child])) child++;
        if (!comes_before(heap[child], last)) break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return best;
}

/* Every set but the first is made once, from the set without its last wall where that is next to the one before, or by
 * moving its last wall outwards. Only the last wall of a set in the heap can exclude another, so sets with two walls of
 * one line are only moved on. */
int projections_next_set(struct walls *walls, uint64_t *set) {
    while (walls->waiting) {
        uint64_t best = pop(walls);
        size_t next = best ? highest_bit(best) + 1 : 0;
        int valid = !(best && walls->excluded[next - 1] & best);
        if (next < walls->count) {
            uint64_t wall = (uint64_t)1 << next;
            if (best) push(walls, (best ^ wall >> 1) | wall);
            if (valid) push(walls, best | wall);
        }
        if (valid) {
            *set = best;
            return 1;
        }
    }
    return 0;
}

void projections_probes(const double *positions, size_t bands, size_t rows, size_t probes, struct wall_set *heap,
                        uint64_t *slots, double *fractions, uint64_t *out) {
    struct walls walls;
    uint64_t *moved = slots + rows;
    for (size_t band = 0; band < bands; band++, positions += rows, out += probes) {
        uint64_t start = draw(0, DOMAIN_BAND, band), set;
        for (size_t i = 0; i < rows; i++) {
            int64_t cell = projections_cell(positions[i]);
            slots[i] = projections_value(cell);
            fractions[i] = positions[i] - (double)cell;
        }
        memcpy(moved, slots, rows * sizeof *slots);
        projections_walls(fractions, rows, heap, &walls);
        size_t found = 0;
        for (; found < probes && projections_next_set(&walls, &set); found++) {
            for (uint64_t left = set; left; left &= left - 1) {
                size_t wall = lowest_bit(left), line = walls.line[wall];
                moved[line] = projections_value(projections_cell(positions[line]) + walls.step[wall]);
            }
            if (rows == 1) out[found] = moved[0];
            else bands_keys_scalar(moved, &start, 1, rows, &out[found]);
            for (; set; set &= set - 1) moved[walls.line[lowest_bit(set)]] = slots[walls.line[lowest_bit(set)]];
        }
        for (; found < probes; found++) out[found] = EMPTY_SLOT;
    }
}

size_t projections_steps(const double *fractions, size_t rows, size_t probes, struct wall_set *heap, int8_t *out) {
    struct walls walls;
    uint64_t set;
    size_t found = 0;
    projections_walls(fractions, rows, heap, &walls);
    memset(out, 0, probes * rows);
    for (; found < probes && projections_next_set(&walls, &set); found++, out += rows) {
        for (; set; set &= set - 1) out[walls.line[lowest_bit(set)]] = walls.step[lowest_bit(set)];
    }
    return found;
}

void projections_found(const struct chances *chances, const int64_t *places, const double *fractions, size_t rows,
                       size_t probes, struct wall_set *heap, uint64_t *sets, double *out) {
    struct walls walls;
    size_t found = 0;
    projections_walls(fractions, rows, heap, &walls);
    while (found < probes && projections_next_set(&walls, &sets[found])) found++;
    for (size_t d = 0; d < chances->distances; d++, out += probes) {
        const double *table = chances->table + d * chances->places * 3;
        double stay = 1, moves[PROJECTIONS_WALLS];
        for (size_t i = 0; i < rows; i++) stay *= table[3 * places[i] + 1];
        if (!(stay > 0)) continue;
        for (size_t w = 0; w < walls.count; w++) {
            const double *chance = table + 3 * places[walls.line[w]];
            moves[w] = chance[1 + walls.step[w]] / chance[1];
        }
        for (size_t s = 0; s < found; s++) {
            double chance = stay;
            for (uint64_t left = sets[s]; left; left &= left - 1) chance *= moves[lowest_bit(left)];
            out[s] += chance;
        }
    }
}
