"""Shared passages beside a suffix array: all passages of a corpus, and questions of a benchmark in a stream of texts.

    python benchmarks/passages.py [--mb 400] [--check 20] [--stream 2000] [--questions 10000] [--length 50]
                                  [--threads 1 2] [--repeat 3]

The corpus has words by Zipf's law, 700 a text. A fifth of the texts holds a passage of an earlier one, and one in 20
holds one of 20 boilerplates. First, the answer on a part of the corpus is compared with that of a suffix array of its
words, made here by prefix doubling: all runs of `length` words that occur twice, and all maximal matches. The peer is
pydivsufsort (if it is installed), which sorts the suffixes of the same words, two bytes each, as deduplicate-text-
datasets does, and computes their common prefixes. For the stream, the corpus is read again and again. Exits with 1 if
a target is missed: 20 MB a second of CPU for the corpus, and 60 for the stream.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np
from contest import SEED, keep_to_one_cpu, label

from lshfast._engine.clock import Clock
from lshfast.kernels.text import Texts
from lshfast.passages.plan import PassagePlan, make_passage_plan
from lshfast.passages.run import FoundPassages, find_against, find_within, hold_texts

VOCABULARY, WORDS = 50_000, 700
BATCH = 2000  # texts that are read at a time
CORPUS_RATE, STREAM_RATE = 20, 60  # the targets, MB a second of CPU


def make_words(rng: np.random.Generator) -> np.ndarray:
    """Return different words of 2 to 9 letters."""
    letters = rng.integers(97, 123, (2 * VOCABULARY, 9), np.uint8)
    words = {bytes(row[: 2 + row[0] % 8]).decode() for row in letters}
    return np.array(sorted(words)[:VOCABULARY], object)


class Corpus:
    """Texts with planted passages, as numbers of words and as str."""

    def __init__(self, megabytes: float) -> None:
        rng = np.random.default_rng(SEED)
        self.words = rng.permutation(make_words(rng))
        shares = np.cumsum(1 / np.arange(1, len(self.words) + 1))
        self.shares = shares / shares[-1]
        self.rng = rng
        boilerplates = [self.draw(int(n)) for n in rng.integers(80, 150, 20)]
        self.texts: list[str] = []
        self.numbers: list[np.ndarray] = []
        self.nbytes = 0
        while self.nbytes < megabytes * 1e6:
            numbers, kind, at = self.draw(WORDS), rng.random(), int(rng.integers(WORDS))
            if kind < 0.2 and self.numbers:
                source = self.numbers[int(rng.integers(len(self.numbers)))]
                start = int(rng.integers(len(source) - 60))
                numbers = np.insert(
                    numbers, at, source[start : start + int(rng.integers(60, 400))]
                )
            elif kind > 0.95:
                numbers = np.insert(numbers, at, boilerplates[int(rng.integers(20))])
            self.add(numbers)

    def draw(self, count: int) -> np.ndarray:
        return np.searchsorted(self.shares, self.rng.random(count)).astype(np.uint16)

    def add(self, numbers: np.ndarray) -> None:
        self.texts.append(" ".join(self.words[numbers]) + ".")
        self.numbers.append(numbers)
        self.nbytes += len(self.texts[-1])

    def batches(self, megabytes: float | None = None) -> Iterator[Texts]:
        """Yield the texts in batches, again and again until there are so many megabytes."""
        left = self.nbytes if megabytes is None else megabytes * 1e6
        while left > 0:
            for at in range(0, len(self.texts), BATCH):
                batch = Texts(self.texts[at : at + BATCH])
                yield batch
                left -= batch.nbytes
                if left <= 0:
                    return


def equal_runs(numbers: list[np.ndarray], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks of all runs of `length` words (-1 where a text ends before), equal for equal runs, and bounds.

    Prefix doubling: the rank of a run of 2n words is that of the pair of ranks of its halves, so all is exact.
    """
    whole = np.concatenate([np.append(row.astype(np.int64), -1) for row in numbers])
    ends = np.flatnonzero(whole < 0)
    rank, size = whole.copy(), 1
    room = np.repeat(ends, np.diff(ends, prepend=-1)) - np.arange(
        len(whole)
    )  # words up to the end of the text
    while size < length:
        step = min(size, length - size)
        other = np.full(len(rank), -1, np.int64)
        other[: len(rank) - step] = rank[step:]
        fits = (room >= size + step) & (rank >= 0) & (other >= 0)
        pairs = np.where(fits, rank * len(whole) + other, -1)
        rank = np.unique(pairs, return_inverse=True)[1] - (0 if fits.all() else 1)
        size += step
    return rank, ends


def check(corpus: Corpus, length: int) -> None:
    """Compare the passages and the later copies of a corpus with those that follow from its equal runs."""
    found = find_within(
        corpus.batches(), make_passage_plan(length, "word", None, 1), Clock()
    )
    rank, ends = equal_runs(corpus.numbers, length)
    order = np.argsort(rank, kind="stable")
    order = order[rank[order] >= 0]
    new = np.append(True, rank[order][1:] != rank[order][:-1])
    later = np.zeros(len(rank) + 1, np.int64)
    np.add.at(later, order[~new], 1)
    np.add.at(later, order[~new] + length, -1)
    row_of = np.searchsorted(ends, np.arange(len(rank)))
    covered = np.bincount(row_of[np.cumsum(later)[:-1] > 0], minlength=len(ends))
    assert np.array_equal(covered, found.covered), "later copies differ"
    starts = np.append(0, ends[:-1] + 1)
    matches = set()
    firsts = np.append(np.flatnonzero(new), len(order))
    for low, high in pairwise(firsts.tolist()):
        for place in range(low + 1, high):
            matches |= {(int(order[i]), int(order[place])) for i in range(low, place)}
    begins = {(i, j) for i, j in matches if (i - 1, j - 1) not in matches}
    spans = found.spans
    first, second = (starts[spans[side]] + spans[f"{side}_unit"] for side in "ij")
    listed = zip(first.tolist(), second.tolist(), strict=True)
    assert begins == set(listed), "passages differ"
    pairs = sum(int(n) for n in spans["units"] - length + 1)
    assert pairs == len(matches), "lengths differ"
    print(
        f"check on {corpus.nbytes / 1e6:.0f} MB: {len(spans):,} passages equal those of a suffix array"
    )


def suffix_array(corpus: Corpus) -> Callable[[], object]:
    """Return the call of the peer: suffixes of all words in order, and the lengths of their common prefixes."""
    from pydivsufsort import divsufsort, kasai

    whole = np.concatenate(corpus.numbers).view(np.uint8)
    return lambda: kasai(whole, divsufsort(whole))


class Times(NamedTuple):
    """The seconds of each of some calls, by the clock and of the CPU, and what the last one returned."""

    seconds: list[float]
    cpu: list[float]
    made: object


def timed(call: Callable[[], object], repeat: int) -> Times:
    times = Times([], [], None)
    for _ in range(repeat):
        before, busy = time.perf_counter(), time.process_time()
        made = call()
        times.seconds.append(time.perf_counter() - before)
        times.cpu.append(time.process_time() - busy)
        times = times._replace(made=made)
    return times


def rate(what: str, megabytes: float, times: Times) -> float:
    """Print the figures of calls that process so many megabytes; return the megabytes for each second of CPU."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    seconds, cpu = median(times.seconds), median(times.cpu)
    figures = f"{seconds:>8.2f} s {megabytes / seconds:>6.0f} MB/s {cpu:>8.2f} s of CPU {megabytes / cpu:>6.0f} MB/s"
    print(f"{what:<54}{figures}   peak so far {peak:.2f} GB", flush=True)
    return megabytes / cpu


def search_corpus(corpus: Corpus, plan: PassagePlan) -> FoundPassages:
    return find_within(corpus.batches(), plan, Clock())


def measure_corpus(
    corpus: Corpus, length: int, threads: list[int], repeat: int
) -> bool:
    """Search a corpus for its passages; return whether the target is reached."""
    good = True
    for count in threads:
        times = timed(
            partial(
                search_corpus, corpus, make_passage_plan(length, "word", 16, count)
            ),
            repeat,
        )
        found = times.made
        assert isinstance(found, FoundPassages)
        what = f"corpus, {length} words, {count} threads, {len(found.spans):,} passages"
        good &= rate(what, corpus.nbytes / 1e6, times) >= CORPUS_RATE
        print(
            "   "
            + ", ".join(
                f"{name} {stage.seconds:.2f} s" for name, stage in found.stages.items()
            )
        )
    return good


def search_stream(
    corpus: Corpus, megabytes: float, held: list[str], plan: PassagePlan
) -> FoundPassages:
    clock = Clock()
    return find_against(
        corpus.batches(megabytes), hold_texts([Texts(held)], plan, clock), plan, clock
    )


def measure_stream(
    corpus: Corpus,
    megabytes: float,
    questions: int,
    length: int,
    threads: list[int],
    repeat: int,
) -> bool:
    """Search a stream for the passages of questions, of which one in 100 is in the corpus.

    Return whether the target is reached.
    """
    held, good = [], True
    for number in range(questions):
        words = corpus.draw(int(corpus.rng.integers(60, 120)))
        if number % 100 == 0:
            words = corpus.numbers[int(corpus.rng.integers(len(corpus.numbers)))][
                100:170
            ]
        held.append(" ".join(corpus.words[words]) + "?")
    for count in threads:
        plan = make_passage_plan(length, "word", 16, count)
        times = timed(partial(search_stream, corpus, megabytes, held, plan), repeat)
        found = times.made
        assert isinstance(found, FoundPassages)
        contaminated = (
            0 if found.other_covered is None else int((found.other_covered > 0).sum())
        )
        what = f"{questions:,} questions, {length} words, {count} threads, {contaminated} found"
        good &= rate(what, megabytes, times) >= STREAM_RATE
    return good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=float, default=400)
    parser.add_argument("--check", type=float, default=20)
    parser.add_argument("--stream", type=float, default=2000)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--length", type=int, default=50)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    if given.threads == [1]:
        keep_to_one_cpu()
    part = Corpus(given.check)
    check(part, given.length)
    if importlib.util.find_spec("pydivsufsort"):
        call = suffix_array(part)
        rate(
            f"{label('pydivsufsort')} of {given.check:.0f} MB",
            part.nbytes / 1e6,
            timed(call, given.repeat),
        )
    measure_corpus(part, given.length, given.threads, given.repeat)
    corpus = Corpus(given.mb)
    good = measure_corpus(corpus, given.length, given.threads, given.repeat)
    for length in (given.length, 13):
        good &= measure_stream(
            corpus, given.stream, given.questions, length, given.threads, given.repeat
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
