"""The hash functions of sketches: SHA-1 as in datasketch, and this library's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import index
from typing import Any

import numpy as np

from lshfast._common.types import Int64Array, UInt64Array
from lshfast.kernels.affine import (
    Functions,
    NativeRows,
    Tokens,
    native_hash,
    sha1_hash32,
    sha1_hash64,
)
from lshfast.tokens import TokenSets

__all__ = ["sha1_hash32", "sha1_hash64", "token_hash"]

# The seed of TokenSets.from_sets.
TOKEN_SEED = 1


def token_hash(token: str | bytes | int) -> int:
    """Return this library's 64-bit hash of a token, as used by `TokenSets.from_sets`.

    Parameters
    ----------
    token : str, bytes or int
        An int must be in -2**63..2**64 - 1.

    Returns
    -------
    int

    Raises
    ------
    TypeError, ValueError
        If the token has another type, or is an int out of range or a str with a lone surrogate.

    Examples
    --------
    >>> from lshfast import TokenSets
    >>> token_hash("a") == int(TokenSets.from_sets([["a"]]).tokens[0])
    True
    """
    value = native_hash(token, TOKEN_SEED)
    return int(token_hashes([token])[0]) if value is None else value


def token_hashes(tokens: Iterable[Any]) -> UInt64Array:
    """Return `token_hash` of each token, uint64 (n,)."""
    return TokenSets.from_sets([tokens], seed=TOKEN_SEED).tokens


class Hasher:
    """A hash function, and the method to hash many tokens with it.

    Parameters
    ----------
    hashfunc : callable
    bits : int
        The bits of its results: 32 or 64.
    scheme : str
        The name of the scheme in errors.

    Attributes
    ----------
    sha1 : int
        32 or 64 if it is SHA-1, which is computed in C; else 0.
    is_native : bool
        Whether it is `token_hash`, which is computed in C for str, bytes and int.
    """

    __slots__ = ("bits", "hashfunc", "is_native", "scheme", "sha1")

    hashfunc: Callable[[Any], Any]
    bits: int
    scheme: str
    sha1: int
    is_native: bool

    def __init__(self, hashfunc: Callable[[Any], Any], bits: int, scheme: str) -> None:
        self.hashfunc = hashfunc
        self.bits = bits
        self.scheme = scheme
        self.sha1 = _bits_of_sha1(hashfunc)
        if self.sha1 > bits:
            self.sha1 = 0
        self.is_native = hashfunc is token_hash

    def lower(self, functions: Functions, tokens: Iterable[Any], values: Any) -> int:
        """Update hash values with tokens and return their number; an error changes nothing."""
        if self.sha1:
            return functions.lower_sha1(tokens, self.sha1, values)
        if self.is_native:
            if type(tokens) is not list and not isinstance(
                tokens, (str, bytes, np.ndarray)
            ):
                tokens = list(tokens)
            if type(tokens) is list and functions.lower_native(
                tokens, TOKEN_SEED, values
            ):
                return len(tokens)
            hashes = token_hashes(tokens)
        else:
            hashes = np.array(
                [self.check(self.hashfunc(token)) for token in tokens], np.uint64
            )
        functions.lower(hashes, values)
        return len(hashes)

    def batches(
        self, rows: Iterable[Iterable[Any]], size: int
    ) -> Iterator[tuple[Int64Array, UInt64Array | Tokens]]:
        """Yield (offsets, hashes) of batches of rows, each of about `size` tokens or rows.

        Rows are read as they are needed. For SHA-1 the tokens are yielded, and hashed later without
        the interpreter lock.
        """
        remaining = iter(rows)
        if self.sha1:
            while len(tokens := Tokens(remaining, size)):
                yield tokens.offsets, tokens
            return
        while True:
            batch = NativeRows(TOKEN_SEED)
            if self.is_native:
                while (row := batch.fill(remaining, size)) is not None:
                    batch.add_hashes(token_hashes(row))
            else:
                for row in remaining:
                    batch.add_hashes(
                        np.array(
                            [self.check(self.hashfunc(token)) for token in row],
                            np.uint64,
                        )
                    )
                    if batch.size >= size or len(batch) >= size:
                        break
            if not len(batch):
                return
            yield batch.rows()

    def check(self, value: Any) -> int:
        """Return a result of the function as an int; raise an error if it is invalid."""
        try:
            number = index(value)
        except TypeError:
            raise TypeError(f"hashfunc must return an int, not {value!r}") from None
        if number >> self.bits:
            advice = (
                "; scheme='affine64' takes hash values of 64 bits"
                if 0 <= number < 2**64
                else ""
            )
            raise ValueError(
                f"hashfunc returned {number}; scheme {self.scheme!r} takes 0..2**{self.bits} - "
                f"1{advice}"
            )
        return number


def _bits_of_sha1(hashfunc: Callable[[Any], Any]) -> int:
    """Return 32 or 64 if a function is datasketch's or this library's SHA-1; else 0."""
    for bits, ours in ((32, sha1_hash32), (64, sha1_hash64)):
        if hashfunc is ours or (
            getattr(hashfunc, "__module__", None) == "datasketch.hashfunc"
            and getattr(hashfunc, "__name__", None) == ours.__name__
        ):
            return bits
    return 0
