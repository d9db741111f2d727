/* The CPU levels that the kernels are written for, and which of them this machine has; and how to ask for memory. */
#ifndef LSHFAST_CPU_H
#define LSHFAST_CPU_H

#if (defined(__x86_64__) || defined(_M_X64)) && !defined(LSHFAST_NO_SIMD)
#define LSHFAST_X86 1
#else
#define LSHFAST_X86 0
#endif

enum cpu_level {
    CPU_SCALAR,
    CPU_AVX2,
    CPU_AVX512 /* F, DQ, BW, VL and IFMA: Ice Lake, Zen 4 and later */
};

/* The highest level that both the processor and the operating system (saved registers) support. */
enum cpu_level cpu_detect(void);

#if defined(__GNUC__) || defined(__clang__)
#define TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define TARGET_AVX512 __attribute__((target("avx2,bmi,bmi2,avx512f,avx512dq,avx512bw,avx512vl,avx512ifma")))
#else
#define TARGET_AVX2
#define TARGET_AVX512
#endif

/* Ask for a line of memory. A function that does nothing else would have no effects to GCC, which then leaves its calls
 * out; hence the empty statement. */
static inline void prefetch(const void *address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
    __asm__ volatile("");
#else
    (void)address;
#endif
}

#endif
