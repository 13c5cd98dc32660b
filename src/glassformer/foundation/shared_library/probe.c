/* Which instruction sets this processor has and its system lets programs use. */
#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* The registers that the system saves when it switches programs: bits of XCR0. */
enum { AVX_STATE = 0x6, AVX512_STATE = 0xe6, TILE_STATE = 0x60000 };

static int has(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

static uint64_t saved_state(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Linux keeps the tiles of AMX from a program until it asks for them. */
static int grants_tiles(void) {
#if defined(__linux__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return 0;
#endif
}

/* Bit 0: AVX2 with FMA, F16C and BMI; 1: also AVX-VNNI; 2: also AVX512-VNNI; 3: also AMX in int8
and bf16. Bits 1 and 2 do not imply each other. */
int probe_instruction_sets(void) {
    uint32_t a, b, c, d, extended = 0, feature_a = 0;
    if (!__get_cpuid(0x80000001, &a, &b, &extended, &d)) return 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const uint32_t fma = 1u << 12, popcnt = 1u << 23, osxsave = 1u << 27, avx = 1u << 28;
    const uint32_t f16c = 1u << 29, lzcnt = 1u << 5;
    if (!has(c, fma | popcnt | osxsave | avx | f16c) || !has(extended, lzcnt)) return 0;
    uint64_t state = saved_state();
    if ((state & AVX_STATE) != AVX_STATE || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if (!has(b, 1u << 3 | 1u << 5 | 1u << 8)) return 0; /* BMI, AVX2, BMI2 */
    int found = 1;
    uint32_t ignored;
    if (a >= 1) __get_cpuid_count(7, 1, &feature_a, &ignored, &ignored, &ignored);
    if (has(feature_a, 1u << 4)) found |= 2;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; /* f dq cd bw vl */
    if (!has(b, avx512) || !has(c, 1u << 11) || (state & AVX512_STATE) != AVX512_STATE)
        return found;
    found |= 4;
    int has_tiles = has(d, 1u << 22 | 1u << 24 | 1u << 25) && has(feature_a, 1u << 5);
    if (has_tiles && (state & TILE_STATE) == TILE_STATE && grants_tiles()) found |= 8;
    return found;
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

/* Bit 0: NEON with dot products of int8. */
int probe_instruction_sets(void) { return (getauxval(AT_HWCAP) & 1ul << 20) != 0; }

#elif defined(__aarch64__) && defined(__APPLE__)
/* Every Apple processor that runs macOS has dot products. */
int probe_instruction_sets(void) { return 1; }

#else
int probe_instruction_sets(void) { return 0; }
#endif
