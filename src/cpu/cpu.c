/* cpuid and xgetbv by hand: __builtin_cpu_supports does not link everywhere (musl, Windows and macOS with clang). */
#include "cpu/cpu.h"

#include <stdint.h>

const char *const cpu_level_names[CPU_LEVELS] = CPU_TABLE("scalar", "avx2", "avx512", "neon");

#if LSHFAST_X86

#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif

static void cpuid(uint32_t leaf, uint32_t r[4]) {
#if defined(_MSC_VER)
    int q[4];
    __cpuidex(q, (int)leaf, 0);
    for (int i = 0; i < 4; i++) r[i] = (uint32_t)q[i];
#else
    __cpuid_count(leaf, 0, r[0], r[1], r[2], r[3]);
#endif
}

static uint64_t saved_registers(void) {
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
#endif
}

enum { EBX = 1, ECX = 2 };

enum cpu_level cpu_detect(void) {
    const uint32_t fma_osxsave_avx = 1u << 12 | 1u << 27 | 1u << 28;
    const uint32_t avx2_bmi = 1u << 3 | 1u << 5 | 1u << 8;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 21 | 1u << 30 | 1u << 31; /* F, DQ, IFMA, BW, VL */
    const uint32_t vbmi_vpopcntdq = 1u << 1 | 1u << 6 | 1u << 14; /* VBMI, VBMI2 */
    uint32_t r[4];
    cpuid(0, r);
    if (r[0] < 7) return CPU_SCALAR;
    cpuid(1, r);
    if ((r[ECX] & fma_osxsave_avx) != fma_osxsave_avx) return CPU_SCALAR;
    uint64_t saved = saved_registers();
    cpuid(7, r);
    if ((saved & 0x06) != 0x06 || (r[EBX] & avx2_bmi) != avx2_bmi) return CPU_SCALAR;
    if ((saved & 0xE6) != 0xE6 || (r[EBX] & avx512) != avx512) return CPU_AVX2;
    if ((r[ECX] & vbmi_vpopcntdq) != vbmi_vpopcntdq) return CPU_AVX2;
    return CPU_AVX512;
}

int cpu_has_sha(void) {
    const uint32_t ssse3_sse41 = 1u << 9 | 1u << 19, sha = 1u << 29;
    uint32_t r[4];
    cpuid(0, r);
    if (r[0] < 7) return 0;
    cpuid(1, r);
    if ((r[ECX] & ssse3_sse41) != ssse3_sse41) return 0;
    cpuid(7, r);
    return (r[EBX] & sha) != 0;
}

#else

enum cpu_level cpu_detect(void) { return (enum cpu_level)(CPU_LEVELS - 1); }

int cpu_has_sha(void) { return 0; }

#endif
