/* What is done to one row of numbers: norms, activations, exponentials, bf16. */
#pragma once
#include "bf16.h"
#include <math.h>

/* eˣ within 2e-7 of it, for x up to 88; tiny instead of zero below -87. NaN stays. */
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

static inline void normalise(const float *x, int64_t size, Norm norm, float epsilon, float *out) {
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < size; i++) sum += x[i];
    float mean = sum / size;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < size; i++) squares += (x[i] - mean) * (x[i] - mean);
    float scale = 1 / sqrtf(squares / size + epsilon);
#pragma omp simd
    for (int64_t i = 0; i < size; i++) out[i] = (x[i] - mean) * scale * norm.gain[i] + norm.bias[i];
}

#define PART 16 /* numbers at once */

/* softmax, in place; there is room up to a multiple of PART, which is overwritten. */
static inline void weigh(float *scores, int64_t count) {
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
    for (int64_t t = 0; t < count; t += PART)
#pragma omp simd
        for (int i = 0; i < PART; i++) scores[t + i] *= inverse;
}
