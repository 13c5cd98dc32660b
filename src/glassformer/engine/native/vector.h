/* Vectors of floats on each instruction set, and exponentials of them.

`Vec` holds LANES floats; + - * / work on it. Rows of numbers are padded with zeros to a multiple of
PAD floats, so that no kernel has a remainder. What the vectors of gcc and clang do as well on every
processor stands here once; the rest has intrinsics.
*/
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined __AVX2__
#include <immintrin.h>
#elif defined __aarch64__ && defined __ARM_NEON
#include <arm_neon.h>
#endif

#define PAD 16 /* floats: the widest vector */
#define INLINE static inline __attribute__((always_inline))
/* A loop over a few vectors, which are to stay in registers. */
#define UNROLLED(i, count) _Pragma("GCC unroll 16") for (int i = 0; i < (count); i++)
/* Do act(n) with an n that the compiler knows, from 1 to 6; there is no code for n above `most`. */
#define WITH_CONSTANT(n, most, act)             \
    switch (n) {                                \
        case 1: act(1) break;                   \
        case 2: act(2) break;                   \
        case 3: if (most > 2) { act(3) } break; \
        case 4: if (most > 3) { act(4) } break; \
        case 5: if (most > 4) { act(5) } break; \
        case 6: if (most > 5) { act(6) } break; \
    }

typedef uint16_t bf16; /* the upper half of a float */

INLINE int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

INLINE float from_bits(int32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
INLINE float widen(bf16 x) { return from_bits((int32_t)((uint32_t)x << 16)); }

#if defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512DQ__
#define LANES 16
typedef __m512 Vec;
#elif defined __AVX2__ && defined __FMA__
#define LANES 8
typedef __m256 Vec;
#else
#define LANES 4
typedef float Vec __attribute__((vector_size(16)));
#endif
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

INLINE Vec v_load(const float *x) {
    Vec v;
    memcpy(&v, x, sizeof v);
    return v;
}
INLINE void v_store(float *x, Vec v) { memcpy(x, &v, sizeof v); }
INLINE Vec v_set(float x) { return x - (Vec){0}; }
INLINE Vec v_abs(Vec a) { return (Vec)((Bits)a & INT32_MAX); }
INLINE Vec v_round(Vec a) { return (a + 12582912.0f) - 12582912.0f; } /* for |a| below 2^22 */
INLINE Vec v_first(Vec a, int64_t n) { /* the first n lanes, and zeros */
    static const int32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    Ints lane;
    memcpy(&lane, lanes, sizeof lane);
    return (Vec)((Ints)a & (lane < (int32_t)smaller(n, LANES)));
}
INLINE Vec v_load_bf16(const bf16 *x) {
#if LANES == 16 /* gcc would widen the halves one after the other */
    return (Vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)x)), 16);
#else
    Halves halves;
    memcpy(&halves, x, sizeof halves);
    return (Vec)(__builtin_convertvector(halves, Bits) << 16);
#endif
}
INLINE void v_store_bf16(bf16 *x, Vec v) { /* rounded to nearest, ties to even */
#ifdef __AVX512BF16__
    _mm256_storeu_si256((__m256i *)x, (__m256i)_mm512_cvtneps_pbh(v));
#else
    Bits bits = (Bits)v, rounded = bits + 0x7fff + (bits >> 16 & 1);
    Halves halves = __builtin_convertvector(rounded >> 16, Halves);
    memcpy(x, &halves, sizeof halves);
#endif
}
/* Store the whole part of each, from 0 to 255, as a byte. */
INLINE void v_store_bytes(uint8_t *x, Vec v) {
#if LANES == 16 /* gcc would narrow on the way to memory, which is slower */
    _mm_storeu_si128((__m128i *)x, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(v)));
#elif LANES == 8 /* gcc would store one byte after the other */
    __m256i all = _mm256_cvttps_epi32(v);
    __m128i both = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    _mm_storel_epi64((__m128i *)x, _mm_packus_epi16(both, both));
#else
    uint8_t __attribute__((vector_size(LANES))) bytes;
    bytes = __builtin_convertvector(__builtin_convertvector(v, Ints), __typeof__(bytes));
    memcpy(x, &bytes, sizeof bytes);
#endif
}

/* Each instruction set has the following. v_max and v_min: b if one is NaN. v_max_abs: the larger of |a|
and b, which is not negative; NaN is larger than any number. v_largest_abs: of a result of v_max_abs.
v_sum_each: the sums of LANES vectors, one in each lane. */
#if LANES == 16
INLINE Vec v_max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
INLINE Vec v_min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
INLINE float v_sum(Vec a) { return _mm512_reduce_add_ps(a); }
INLINE float v_largest(Vec a) { return _mm512_reduce_max_ps(a); }
INLINE int v_any_above(Vec a, Vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0; }
INLINE Vec v_scale(Vec a, Vec n) { return _mm512_scalef_ps(a, n); } /* a 2^n */
INLINE Vec v_max_abs(Vec a, Vec b) { return (Vec)_mm512_max_epi32((__m512i)v_abs(a), (__m512i)b); }
INLINE float v_largest_abs(Vec a) { return from_bits(_mm512_reduce_max_epi32((__m512i)a)); }
INLINE Vec v_sum_each(Vec *x) {
    for (int i = 0; i < 8; i++) /* each lane of 128 bits then has sums of two vectors */
        x[i] = _mm512_unpacklo_ps(x[i], x[i + 8]) + _mm512_unpackhi_ps(x[i], x[i + 8]);
    for (int i = 0; i < 4; i++)
        x[i] = _mm512_unpacklo_ps(x[i], x[i + 4]) + _mm512_unpackhi_ps(x[i], x[i + 4]);
    for (int i = 0; i < 2; i++)
        x[i] = _mm512_shuffle_f32x4(x[i], x[i + 2], 0x88) +
               _mm512_shuffle_f32x4(x[i], x[i + 2], 0xdd);
    x[0] = _mm512_shuffle_f32x4(x[0], x[1], 0x88) + _mm512_shuffle_f32x4(x[0], x[1], 0xdd);
    const __m512i order = _mm512_setr_epi32(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15);
    return _mm512_permutexvar_ps(order, x[0]);
}

/* Store the sums of the halves of 16 vectors: of the first halves in `low`, of the others in `high`. */
INLINE void v_sum_halves(const Vec *x, float *low, float *high) {
    const __m512i order = _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    for (int half = 0; half < 2; half++) {
        Vec y[8];
        for (int i = 0; i < 8; i++)
            y[i] = half ? _mm512_shuffle_f32x4(x[i], x[i + 8], 0xee)
                        : _mm512_shuffle_f32x4(x[i], x[i + 8], 0x44);
        for (int i = 0; i < 4; i++)
            y[i] = _mm512_unpacklo_ps(y[i], y[i + 4]) + _mm512_unpackhi_ps(y[i], y[i + 4]);
        for (int i = 0; i < 2; i++)
            y[i] = _mm512_unpacklo_ps(y[i], y[i + 2]) + _mm512_unpackhi_ps(y[i], y[i + 2]);
        y[0] = _mm512_shuffle_f32x4(y[0], y[1], 0x88) + _mm512_shuffle_f32x4(y[0], y[1], 0xdd);
        v_store(half ? high : low, _mm512_permutexvar_ps(order, y[0]));
    }
}

#elif LANES == 8
INLINE Vec v_max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
INLINE Vec v_min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
INLINE float v_sum(Vec a) {
    __m128 half = _mm256_castps256_ps128(a) + _mm256_extractf128_ps(a, 1);
    half = half + _mm_movehl_ps(half, half);
    return _mm_cvtss_f32(half) + _mm_cvtss_f32(_mm_movehdup_ps(half));
}
INLINE float v_largest(Vec a) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
INLINE int v_any_above(Vec a, Vec b) {
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
}
INLINE Vec v_max_abs(Vec a, Vec b) { return (Vec)_mm256_max_epi32((__m256i)v_abs(a), (__m256i)b); }
INLINE float v_largest_abs(Vec a) {
    __m128i half = _mm_max_epi32(_mm256_castsi256_si128((__m256i)a),
                                 _mm256_extracti128_si256((__m256i)a, 1));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    return from_bits(_mm_cvtsi128_si32(_mm_max_epi32(half, _mm_shuffle_epi32(half, 0xb1))));
}
INLINE Vec v_sum_each(Vec *x) {
    __m256 low = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
    __m256 high = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
    return _mm256_permute2f128_ps(low, high, 0x20) + _mm256_permute2f128_ps(low, high, 0x31);
}

#else /* any processor */
INLINE Vec v_choose(Ints mask, Vec a, Vec b) { return (Vec)(((Ints)a & mask) | ((Ints)b & ~mask)); }
INLINE Vec v_max(Vec a, Vec b) { return v_choose(a > b, a, b); }
INLINE Vec v_min(Vec a, Vec b) { return v_choose(a < b, a, b); }
INLINE Vec v_max_abs(Vec a, Vec b) { return v_choose((Ints)v_abs(a) > (Ints)b, v_abs(a), b); }
INLINE float v_sum(Vec a) { return (a[0] + a[2]) + (a[1] + a[3]); }
INLINE float v_largest(Vec a) {
    float x = a[0] > a[1] ? a[0] : a[1], y = a[2] > a[3] ? a[2] : a[3];
    return x > y ? x : y;
}
INLINE float v_largest_abs(Vec a) {
    Ints bits = (Ints)a;
    int32_t x = bits[0] > bits[1] ? bits[0] : bits[1], y = bits[2] > bits[3] ? bits[2] : bits[3];
    return from_bits(x > y ? x : y);
}
INLINE int v_any_above(Vec a, Vec b) {
    int64_t __attribute__((vector_size(16))) above = (__typeof__(above))(a > b);
    return (above[0] | above[1]) != 0;
}
#ifdef __aarch64__
INLINE Vec v_sum_each(Vec *x) { return vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3])); }
#else
INLINE Vec v_sum_each(Vec *x) { return (Vec){v_sum(x[0]), v_sum(x[1]), v_sum(x[2]), v_sum(x[3])}; }
#endif
#endif

#if LANES < 16
INLINE Vec v_scale(Vec a, Vec n) { return (Vec)((Ints)a + (__builtin_convertvector(n, Ints) << 23)); }
#endif

/* Return eˣ of each with a relative error below 3e-7, for x up to 88; tiny instead of zero below
-87. NaN stays. */
INLINE Vec v_exp(Vec x) {
    x = v_min(v_set(88.0f), v_max(v_set(-87.0f), x)); /* the bound first, so that NaN stays */
    Vec n = v_round(x * v_set(1.44269504f));
    Vec r = x - n * v_set(0.693145752f);
    r = r - n * v_set(1.42860677e-6f);
    Vec sum = v_set(0.00139304355f) * r + v_set(0.00833346304f);
    sum = sum * r + v_set(0.0416666351f);
    sum = sum * r + v_set(0.166666657f);
    sum = sum * r + v_set(0.5f);
    sum = sum * r + v_set(1.0f);
    return v_scale(sum * r + v_set(1.0f), n);
}

/* Return ln x of each with an error below 2e-7, for x from 1 on. NaN stays.

x = m 2^n with m from √½ to √2, and ln m = 2 artanh s with s = (m - 1) / (m + 1). */
INLINE Vec v_log(Vec x) {
    Ints n = ((Ints)x - 0x3f3504f3) >> 23;
    Vec m = (Vec)((Ints)x - (n << 23)), s = (m - 1.0f) / (m + 1.0f), square = s * s;
    Vec sum = v_set(2 / 9.0f) * square + v_set(2 / 7.0f);
    sum = sum * square + v_set(2 / 5.0f);
    sum = sum * square + v_set(2 / 3.0f);
    sum = (sum * square + v_set(2.0f)) * s + (x - x);
    return __builtin_convertvector(n, Vec) * v_set(0.693147181f) + sum;
}
