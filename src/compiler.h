/* What compilers have beside C11, each thing with its equivalent for GCC, Clang and MSVC; only cpu.c asks the processor by
 * itself. LSHFAST_MSVC may be defined to have GCC for Windows use MSVC's intrinsics, as tests/platforms.sh does. */
#ifndef LSHFAST_COMPILER_H
#define LSHFAST_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__) && !defined(LSHFAST_MSVC)
#define LSHFAST_MSVC
#endif

#ifdef LSHFAST_MSVC
#include <intrin.h>
#include <stdlib.h>
#endif

/* TARGET("avx2") before a function lets it use those instructions. MSVC lets all functions use all. */
#if defined(__GNUC__) || defined(__clang__)
#define TARGET(instructions) __attribute__((target(instructions)))
#else
#define TARGET(instructions)
#endif

/* Before a function that is not made a part of its callers. */
#if defined(__GNUC__) || defined(__clang__)
#define NOT_INLINED __attribute__((noinline))
#else
#define NOT_INLINED __declspec(noinline)
#endif

/* In place of `inline`, for a function that is made a part of its callers however large it is, so that arguments which are
 * constants there unroll its loops. */
#if defined(__GNUC__) || defined(__clang__)
#define ALWAYS_INLINED inline __attribute__((always_inline))
#else
#define ALWAYS_INLINED __forceinline
#endif

/* Products and sums are not joined into one rounding in what follows, or other bits would come out on some processors.
 * GCC has no such pragma: setup.py passes -ffp-contract=off. */
#if defined(__clang__)
#define NO_CONTRACTION _Pragma("STDC FP_CONTRACT OFF")
#elif defined(_MSC_VER)
#define NO_CONTRACTION __pragma(fp_contract(off))
#else
#define NO_CONTRACTION
#endif

/* A 128-bit integer, as LSHFAST_INT128 and wide_integer. */
#if defined(__SIZEOF_INT128__) && !defined(LSHFAST_MSVC)
#define LSHFAST_INT128 1
__extension__ typedef unsigned __int128 wide_integer;
#else
#define LSHFAST_INT128 0
#endif

/* The low half of a 128-bit product, and its high half in *high, for compilers without 128-bit integers. */
static inline uint64_t product_of_words(uint64_t a, uint64_t b, uint64_t *high) {
#if defined(LSHFAST_MSVC) && (defined(_M_X64) || defined(__x86_64__))
    return _umul128(a, b, high);
#elif defined(LSHFAST_MSVC) && defined(_M_ARM64)
    *high = __umulh(a, b);
    return a * b;
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t m = a1 * b0 + (a0 * b0 >> 32), n = a0 * b1 + (uint32_t)m;
    *high = a1 * b1 + (m >> 32) + (n >> 32);
    return a * b;
#endif
}

/* The number of the lowest bit that is set, and of the highest; x is not 0. */
static inline unsigned lowest_bit(uint64_t x) {
#ifdef LSHFAST_MSVC
    unsigned long bit;
    _BitScanForward64(&bit, x);
    return (unsigned)bit;
#else
    return (unsigned)__builtin_ctzll(x);
#endif
}

static inline unsigned highest_bit(uint64_t x) {
#ifdef LSHFAST_MSVC
    unsigned long bit;
    _BitScanReverse64(&bit, x);
    return (unsigned)bit;
#else
    return 63 - (unsigned)__builtin_clzll(x);
#endif
}

/* How many bits of a word are ones: sums of pairs, of fours, of eights, of all. AArch64 has an instruction. */
static inline uint64_t ones_of(uint64_t x) {
#if defined(__aarch64__) && !defined(LSHFAST_MSVC)
    return (uint64_t)__builtin_popcountll(x);
#else
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return x * UINT64_C(0x0101010101010101) >> 56;
#endif
}

/* x with its bytes in the other order. */
static inline uint64_t swapped_bytes(uint64_t x) {
#ifdef LSHFAST_MSVC
    return _byteswap_uint64(x);
#else
    return __builtin_bswap64(x);
#endif
}

/* x from or to the order of bytes in which the lowest comes first. */
static inline uint64_t little_endian(uint64_t x) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = swapped_bytes(x);
#endif
    return x;
}

/* Ask for a line of memory. A function that does nothing else would have no effects to GCC, which then leaves its calls
 * out; hence the empty statement. */
static inline void prefetch(const void *address) {
#if !defined(LSHFAST_MSVC)
    __builtin_prefetch(address);
    __asm__ volatile("");
#elif defined(_M_ARM64)
    __prefetch(address);
#else
    _mm_prefetch((const char *)address, _MM_HINT_T0);
#endif
}

/* Ask for what lies so many bytes behind an address, where there need not be memory. */
static inline void prefetch_behind(const void *address, size_t bytes) {
    prefetch((const void *)((uintptr_t)address + bytes));
}

#endif
