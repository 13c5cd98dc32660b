/* Vectors of floats on each instruction set, and exponentials of them.

`Vec` holds LANES floats; + - * / work on it. Rows of numbers are padded with zeros to a multiple of
PAD floats, so that no kernel has a remainder.
*/
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#define PAD 16 /* floats: the widest vector */
#define INLINE static inline __attribute__((always_inline))
/* A loop over a few vectors, which are to stay in registers. */
#define UNROLLED(i, count) _Pragma("GCC unroll 16") for (int i = 0; i < (count); i++)

typedef uint16_t bf16; /* the upper half of a float */

INLINE int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

INLINE float widen(bf16 x) {
    uint32_t bits = (uint32_t)x << 16;
    float wide;
    memcpy(&wide, &bits, 4);
    return wide;
}

INLINE bf16 narrow(float x) { /* round to nearest, ties to even */
    uint32_t bits;
    memcpy(&bits, &x, 4);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return x != x ? 0x7fc0 : (bf16)rounded;
}

#if defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512DQ__
#include <immintrin.h>
#define LANES 16
typedef __m512 Vec;
INLINE Vec v_load(const float *x) { return _mm512_loadu_ps(x); }
INLINE void v_store(float *x, Vec v) { _mm512_storeu_ps(x, v); }
INLINE Vec v_set(float x) { return _mm512_set1_ps(x); }
INLINE Vec v_max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
INLINE Vec v_min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
INLINE Vec v_abs(Vec a) { return _mm512_abs_ps(a); }
INLINE float v_sum(Vec a) { return _mm512_reduce_add_ps(a); }
INLINE float v_largest(Vec a) { return _mm512_reduce_max_ps(a); }
INLINE int v_any_above(Vec a, Vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0; }
INLINE Vec v_first(Vec a, int64_t n) { /* the first n lanes, and zeros */
    return _mm512_maskz_mov_ps(n >= LANES ? 0xffff : (__mmask16)((1u << n) - 1), a);
}
INLINE Vec v_load_bf16(const bf16 *x) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)x));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
INLINE Vec v_round(Vec a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE Vec v_scale(Vec a, Vec n) { return _mm512_scalef_ps(a, n); } /* a 2^n */
INLINE void v_store_bf16(bf16 *x, Vec v) {
#ifdef __AVX512BF16__
    _mm256_storeu_si256((__m256i *)x, (__m256i)_mm512_cvtneps_pbh(v));
#else
    __m512i bits = _mm512_castps_si512(v), odd = _mm512_srli_epi32(bits, 16);
    odd = _mm512_and_si512(odd, _mm512_set1_epi32(1));
    bits = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    _mm256_storeu_si256((__m256i *)x, _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16)));
#endif
}
/* Store the whole part of each, from 0 to 255, as a byte. */
INLINE void v_store_bytes(uint8_t *x, Vec v) {
    _mm_storeu_si128((__m128i *)x, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(v)));
}
/* Return the larger of |a| and b, which is not negative; NaN is larger than any number. */
INLINE Vec v_max_abs(Vec a, Vec b) {
    return (Vec)_mm512_max_epi32((__m512i)v_abs(a), (__m512i)b);
}
INLINE float v_largest_abs(Vec a) { /* of a result of v_max_abs */
    int32_t bits = _mm512_reduce_max_epi32((__m512i)a);
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* Return the sums of 16 vectors, one in each lane. */
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

#elif defined __AVX2__ && defined __FMA__
#include <immintrin.h>
#define LANES 8
typedef __m256 Vec;
INLINE Vec v_load(const float *x) { return _mm256_loadu_ps(x); }
INLINE void v_store(float *x, Vec v) { _mm256_storeu_ps(x, v); }
INLINE Vec v_set(float x) { return _mm256_set1_ps(x); }
INLINE Vec v_max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
INLINE Vec v_min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
INLINE Vec v_abs(Vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
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
INLINE Vec v_first(Vec a, int64_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i keep = _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), lane);
    return _mm256_and_ps(a, _mm256_castsi256_ps(keep));
}
INLINE Vec v_load_bf16(const bf16 *x) {
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)x));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
INLINE Vec v_round(Vec a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE Vec v_scale(Vec a, Vec n) {
    __m256i bits = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), bits));
}
INLINE void v_store_bf16(bf16 *x, Vec v) {
    __m256i bits = _mm256_castps_si256(v), odd = _mm256_srli_epi32(bits, 16);
    odd = _mm256_and_si256(odd, _mm256_set1_epi32(1));
    bits = _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7fff));
    bits = _mm256_srli_epi32(bits, 16);
    __m128i low = _mm256_castsi256_si128(bits), high = _mm256_extracti128_si256(bits, 1);
    _mm_storeu_si128((__m128i *)x, _mm_packus_epi32(low, high));
}
INLINE void v_store_bytes(uint8_t *x, Vec v) {
    __m256i all = _mm256_cvttps_epi32(v);
    __m128i both = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    _mm_storel_epi64((__m128i *)x, _mm_packus_epi16(both, both));
}
INLINE Vec v_max_abs(Vec a, Vec b) {
    return (Vec)_mm256_max_epi32((__m256i)v_abs(a), (__m256i)b);
}
INLINE float v_largest_abs(Vec a) {
    __m128i half = _mm_max_epi32(_mm256_castsi256_si128((__m256i)a),
                                 _mm256_extracti128_si256((__m256i)a, 1));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    return _mm_cvtss_f32((__m128)_mm_max_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
}
INLINE Vec v_sum_each(Vec *x) {
    __m256 low = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
    __m256 high = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
    return _mm256_permute2f128_ps(low, high, 0x20) + _mm256_permute2f128_ps(low, high, 0x31);
}

#elif defined __aarch64__ && defined __ARM_NEON
#include <arm_neon.h>
#define LANES 4
typedef float32x4_t Vec;
INLINE Vec v_load(const float *x) { return vld1q_f32(x); }
INLINE void v_store(float *x, Vec v) { vst1q_f32(x, v); }
INLINE Vec v_set(float x) { return vdupq_n_f32(x); }
INLINE Vec v_max(Vec a, Vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); } /* b if one is NaN */
INLINE Vec v_min(Vec a, Vec b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
INLINE Vec v_abs(Vec a) { return vabsq_f32(a); }
INLINE float v_sum(Vec a) { return vaddvq_f32(a); }
INLINE float v_largest(Vec a) { return vmaxvq_f32(a); }
INLINE int v_any_above(Vec a, Vec b) { return vmaxvq_u32(vcgtq_f32(a, b)) != 0; }
INLINE Vec v_first(Vec a, int64_t n) {
    const int32_t lane[4] = {0, 1, 2, 3};
    uint32x4_t keep = vcltq_s32(vld1q_s32(lane), vdupq_n_s32((int32_t)n));
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), keep));
}
INLINE Vec v_load_bf16(const bf16 *x) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(x), 16));
}
INLINE Vec v_round(Vec a) { return vrndnq_f32(a); }
INLINE Vec v_scale(Vec a, Vec n) {
    int32x4_t bits = vshlq_n_s32(vcvtq_s32_f32(n), 23);
    return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(a), bits));
}
INLINE void v_store_bf16(bf16 *x, Vec v) {
    uint32x4_t bits = vreinterpretq_u32_f32(v);
    uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    bits = vaddq_u32(vaddq_u32(bits, odd), vdupq_n_u32(0x7fff));
    vst1_u16(x, vshrn_n_u32(bits, 16));
}
INLINE void v_store_bytes(uint8_t *x, Vec v) {
    uint16x4_t half = vmovn_u32(vcvtq_u32_f32(v));
    uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(half, half))), 0);
    memcpy(x, &bytes, 4);
}
INLINE Vec v_max_abs(Vec a, Vec b) {
    return vreinterpretq_f32_s32(
        vmaxq_s32(vreinterpretq_s32_f32(vabsq_f32(a)), vreinterpretq_s32_f32(b)));
}
INLINE float v_largest_abs(Vec a) {
    int32_t bits = vmaxvq_s32(vreinterpretq_s32_f32(a));
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
INLINE Vec v_sum_each(Vec *x) {
    return vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3]));
}

#else /* any processor, by the vectors of gcc and clang */
#define LANES 4
typedef float Vec __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));
typedef uint16_t Halves __attribute__((vector_size(8)));
INLINE Vec v_load(const float *x) {
    Vec v;
    memcpy(&v, x, sizeof v);
    return v;
}
INLINE void v_store(float *x, Vec v) { memcpy(x, &v, sizeof v); }
INLINE Vec v_set(float x) { return (Vec){x, x, x, x}; }
INLINE Vec v_choose(Ints mask, Vec a, Vec b) { return (Vec)(((Ints)a & mask) | ((Ints)b & ~mask)); }
INLINE Vec v_max(Vec a, Vec b) { return v_choose(a > b, a, b); }
INLINE Vec v_min(Vec a, Vec b) { return v_choose(a < b, a, b); }
INLINE Vec v_abs(Vec a) { return (Vec)((Ints)a & INT32_MAX); }
INLINE float v_sum(Vec a) { return (a[0] + a[2]) + (a[1] + a[3]); }
INLINE float v_largest(Vec a) {
    float x = a[0] > a[1] ? a[0] : a[1], y = a[2] > a[3] ? a[2] : a[3];
    return x > y ? x : y;
}
INLINE int v_any_above(Vec a, Vec b) {
    Ints above = a > b;
    return (above[0] | above[1] | above[2] | above[3]) != 0;
}
INLINE Vec v_first(Vec a, int64_t n) {
    return (Vec)((Ints)a & ((Ints){0, 1, 2, 3} < (int32_t)smaller(n, LANES)));
}
INLINE Vec v_load_bf16(const bf16 *x) {
    Halves halves;
    memcpy(&halves, x, sizeof halves);
    return (Vec)(__builtin_convertvector(halves, Ints) << 16);
}
INLINE Vec v_round(Vec a) { /* for |a| below 2^22 */
    return (a + 12582912.0f) - 12582912.0f;
}
INLINE Vec v_scale(Vec a, Vec n) {
    return (Vec)((Ints)a + (__builtin_convertvector(n, Ints) << 23));
}
INLINE void v_store_bf16(bf16 *x, Vec v) {
    Ints bits = (Ints)v, rounded = bits + 0x7fff + (bits >> 16 & 1);
    Halves halves = __builtin_convertvector(rounded >> 16, Halves);
    memcpy(x, &halves, sizeof halves);
}
INLINE void v_store_bytes(uint8_t *x, Vec v) {
    uint8_t __attribute__((vector_size(4))) bytes;
    bytes = __builtin_convertvector(__builtin_convertvector(v, Ints), __typeof__(bytes));
    memcpy(x, &bytes, sizeof bytes);
}
INLINE Vec v_max_abs(Vec a, Vec b) {
    Ints x = (Ints)v_abs(a), y = (Ints)b;
    return (Vec)((x & (x > y)) | (y & ~(x > y)));
}
INLINE float v_largest_abs(Vec a) {
    Ints bits = (Ints)a;
    int32_t x = bits[0] > bits[1] ? bits[0] : bits[1], y = bits[2] > bits[3] ? bits[2] : bits[3];
    float largest;
    x = x > y ? x : y;
    memcpy(&largest, &x, 4);
    return largest;
}
INLINE Vec v_sum_each(Vec *x) { return (Vec){v_sum(x[0]), v_sum(x[1]), v_sum(x[2]), v_sum(x[3])}; }
#endif

typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));

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

INLINE float exponential(float x) {
    float all[LANES];
    v_store(all, v_exp(v_set(x)));
    return all[0];
}
