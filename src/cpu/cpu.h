/* The CPU levels that the kernels are written for, and which of them this machine has.
 *
 * Each family has one table of its kernels by level, made with CPU_TABLE. The level in use is one number a process, which
 * the module lshfast.kernels.cpu owns; the other modules read it each time they enter C. */
#ifndef LSHFAST_CPU_H
#define LSHFAST_CPU_H

#include "compiler.h"

#if (defined(__x86_64__) || defined(_M_X64)) && !defined(LSHFAST_NO_SIMD)
#define LSHFAST_X86 1
#else
#define LSHFAST_X86 0
#endif

#if (defined(__aarch64__) || defined(_M_ARM64)) && !defined(__AARCH64EB__) && !defined(LSHFAST_NO_SIMD)
#define LSHFAST_NEON 1
#else
#define LSHFAST_NEON 0
#endif

/* The levels of this architecture, the slowest first. A machine that has one has those before it. CPU_TABLE makes what is
 * indexed by them: pass for each level the fastest that it can run. */
#if LSHFAST_X86
enum cpu_level {
    CPU_SCALAR,
    CPU_AVX2,   /* and BMI and FMA: Haswell, Excavator and later */
    CPU_AVX512, /* F, DQ, BW, VL, IFMA, VBMI, VBMI2 and VPOPCNTDQ: Ice Lake, Zen 4 and later */
    CPU_LEVELS
};
#define CPU_TABLE(scalar, avx2, avx512, neon) {scalar, avx2, avx512}
#elif LSHFAST_NEON
enum cpu_level {
    CPU_SCALAR,
    CPU_NEON, /* every AArch64 processor */
    CPU_LEVELS
};
#define CPU_TABLE(scalar, avx2, avx512, neon) {scalar, neon}
#else
enum cpu_level { CPU_SCALAR, CPU_LEVELS };
#define CPU_TABLE(scalar, avx2, avx512, neon) {scalar}
#endif

extern const char *const cpu_level_names[CPU_LEVELS];

/* The highest level that both the processor and the operating system (saved registers) support. */
enum cpu_level cpu_detect(void);

/* Whether the processor has the SHA instructions of x86 (Goldmont, Zen, Ice Lake and later). */
int cpu_has_sha(void);

#define TARGET_AVX2 TARGET("avx2,bmi,bmi2")
#define TARGET_AVX512 TARGET("avx2,bmi,bmi2,avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vbmi2")
#define TARGET_SHA TARGET("sha,sse4.1")

#endif
