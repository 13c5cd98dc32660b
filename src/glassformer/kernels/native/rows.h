/* Functions of one row of numbers: norms, activations, exponentials, bf16. */
#pragma once
#include "bf16.h"
#include <math.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

/* Return eˣ with a relative error below 2e-7, for x up to 88; tiny instead of zero below -87. NaN
stays. */
static inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    float whole = rintf(x * 1.44269504f);
    float r = x - whole * 0.693145752f - whole * 1.42860677e-6f;
    float series = 1 + r * (1 + r * (0.5f + r * (0.166666657f + r * (0.0416666351f
                   + r * (0.00833346304f + r * 0.00139304355f)))));
    uint32_t bits = ((uint32_t)(int32_t)whole + 127) << 23;
    float power;
    memcpy(&power, &bits, 4);
    return series * power;
}

#ifdef __AVX512F__
/* Return 2ˣ of each with a relative error below 2e-7; NaN stays. */
static inline __m512 power_of_2(__m512 x) {
    x = _mm512_max_ps(_mm512_set1_ps(-200), x);
    __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_sub_ps(x, whole), sum = _mm512_set1_ps(0.000154035304f);
    sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(0.00133335581f));
    sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(0.00961812911f));
    sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(0.0555041087f));
    sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(0.240226507f));
    sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(0.693147181f));
    return _mm512_scalef_ps(_mm512_fmadd_ps(sum, r, _mm512_set1_ps(1)), whole);
}

/* Return the mask of the first n of 16 values. */
static inline __mmask16 first_of(int64_t n) { return n >= 16 ? 0xffff : (1u << n) - 1; }
#endif

/* The error function within 2e-7 (Abramowitz and Stegun 1964, 7.1.26). */
static inline float error_function(float x) {
    float size = fabsf(x), t = 1 / (1 + 0.3275911f * size);
    float sum = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f
                + t * (-1.453152027f + t * 1.061405429f))));
    return copysignf(1 - sum * exponential(-size * size), x);
}

enum { NONE, RELU, SILU, GELU };

static inline void activate(float *x, int64_t size, int activation) {
    if (activation == SILU) {
#pragma omp simd
        for (int64_t i = 0; i < size; i++) x[i] = x[i] / (1 + exponential(-x[i]));
    } else if (activation == GELU) {
#pragma omp simd
        for (int64_t i = 0; i < size; i++)
            x[i] = 0.5f * x[i] * (1 + error_function(x[i] * 0.707106781f));
    }
}

typedef struct {
    const float *gain, *bias;
} Norm;

/* Return the sum of x, or of the squares of x - mean. Four partial sums hide the latency of
additions. */
static inline float add_up(const float *x, int64_t size, float mean, int squared) {
#define TERM(i) (squared ? (x[i] - mean) * (x[i] - mean) : x[i])
    float a = 0, b = 0, c = 0, d = 0;
    int64_t part = size / 4;
#pragma omp simd reduction(+ : a, b, c, d)
    for (int64_t i = 0; i < part; i++) {
        a += TERM(i);
        b += TERM(i + part);
        c += TERM(i + 2 * part);
        d += TERM(i + 3 * part);
    }
    for (int64_t i = 4 * part; i < size; i++) a += TERM(i);
    return a + b + (c + d);
#undef TERM
}

static inline void normalise(const float *x, int64_t size, Norm norm, float epsilon, float *out) {
    float mean = add_up(x, size, 0, 0) / size;
    float scale = 1 / sqrtf(add_up(x, size, mean, 1) / size + epsilon);
#pragma omp simd
    for (int64_t i = 0; i < size; i++) out[i] = (x[i] - mean) * scale * norm.gain[i] + norm.bias[i];
}

#define PART 16 /* numbers computed at once */

/* Compute the softmax of some rows, `apart` from each other, in place. Each row has memory up to a
multiple of PART, where the rest becomes zero. */
#ifdef __AVX512F__
static inline __attribute__((always_inline)) void weigh(float *all, int64_t count, int rows,
                                                        int64_t apart) {
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    __m512 high[4], sum[4];
    for (int r = 0; r < rows; r++) high[r] = lowest, sum[r] = _mm512_setzero_ps();
    for (int64_t t = 0; t < count; t += PART)
        for (int r = 0; r < rows; r++) { /* the new number comes first, so that a NaN is ignored */
            __m512 x = _mm512_mask_loadu_ps(lowest, first_of(count - t), all + r * apart + t);
            high[r] = _mm512_max_ps(x, high[r]);
        }
    for (int r = 0; r < rows; r++) high[r] = _mm512_set1_ps(_mm512_reduce_max_ps(high[r]));
    for (int64_t t = 0; t < count; t += PART)
        for (int r = 0; r < rows; r++) {
            float *scores = all + r * apart + t;
            __m512 from_high = _mm512_sub_ps(_mm512_loadu_ps(scores), high[r]);
            __m512 x = power_of_2(_mm512_mul_ps(from_high, _mm512_set1_ps(1.44269504f)));
            x = _mm512_maskz_mov_ps(first_of(count - t), x);
            sum[r] = _mm512_add_ps(sum[r], x);
            _mm512_storeu_ps(scores, x);
        }
    for (int r = 0; r < rows; r++) sum[r] = _mm512_set1_ps(1 / _mm512_reduce_add_ps(sum[r]));
    for (int64_t t = 0; t < count; t += PART)
        for (int r = 0; r < rows; r++) {
            float *scores = all + r * apart + t;
            _mm512_storeu_ps(scores, _mm512_mul_ps(_mm512_loadu_ps(scores), sum[r]));
        }
}
#else
static inline void weigh_one(float *scores, int64_t count) {
    float highs[PART], sums[PART] = {0};
    for (int i = 0; i < PART; i++) highs[i] = -INFINITY;
    for (int64_t t = count; t % PART; t++) scores[t] = -INFINITY;
    for (int64_t t = 0; t < count; t += PART)
#pragma omp simd
        for (int i = 0; i < PART; i++) highs[i] = scores[t + i] > highs[i] ? scores[t + i] : highs[i];
    for (int half = PART / 2; half; half /= 2)
        for (int i = 0; i < half; i++) highs[i] = highs[i + half] > highs[i] ? highs[i + half] : highs[i];
    for (int64_t t = 0; t < count; t += PART)
#pragma omp simd
        for (int i = 0; i < PART; i++) sums[i] += scores[t + i] = exponential(scores[t + i] - highs[0]);
    for (int half = PART / 2; half; half /= 2)
        for (int i = 0; i < half; i++) sums[i] += sums[i + half];
    float inverse = 1 / sums[0];
#pragma omp simd
    for (int64_t t = 0; t < count; t++) scores[t] *= inverse;
    for (int64_t t = count; t % PART; t++) scores[t] = 0;
}

static inline void weigh(float *all, int64_t count, int rows, int64_t apart) {
    for (int r = 0; r < rows; r++) weigh_one(all + r * apart, count);
}
#endif
