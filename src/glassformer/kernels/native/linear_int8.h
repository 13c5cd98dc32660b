/* The int8 linear map y = (x - zero) Wᵀ, exact in integers.

Each row of x and each output of W has a scale of its own.

Letters: N rows; K inputs, padded to a multiple of 64; F outputs, padded to a multiple of 16. The
layout of weights suits all instruction sets: F/16 blocks, each K/4 times 16 outputs by 4 inputs.
Inputs are unsigned; `zero` (0 or 128) is subtracted by means of the sums of the weights.
*/
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <immintrin.h>

#define SIDE 16 /* outputs of a block; rows and outputs of a tile */
#define TILED 12 /* the number of rows from which tiles are faster */
#define LARGEST 127
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define WORDS 0
#else
#define WORDS 2 /* of four inputs, whose products are summed in 16 bits: see `find_scale` */
#endif

typedef struct {
    const int8_t *weight;
    const float *scale; /* F */
    const int32_t *sum; /* F: the sum of an output's weights */
    const float *bias;  /* F */
    int64_t inputs, outputs; /* K and F, padded */
} Map;

/* Return at most `count` outputs from `first` on, a multiple of SIDE. */
static inline Map take_outputs(const Map *map, int64_t first, int64_t count) {
    int64_t left = map->outputs - first;
    return (Map){map->weight + first * map->inputs, map->scale + first, map->sum + first,
                 map->bias + first, map->inputs, left < count ? left : count};
}

typedef struct {
    const uint8_t *whole; /* N quantized rows, `stride` apart; memory for a multiple of 32 */
    const float *scale;   /* N */
    int64_t stride;
    int32_t zero;
} Rows;

static inline float at_least(float x, float least) { return x > least ? x : least; }

/* Scale the sums of a product, add the bias and apply ReLU: 16 outputs of each of `rows` rows. */
static inline __attribute__((always_inline)) void write_out(
    const int32_t *sums, int64_t rows, const Map *map, int64_t f, const float *scales,
    int32_t zero, int relu, float *y, int64_t y_stride) {
#ifdef __AVX512F__
    __m512i offset = _mm512_mullo_epi32(_mm512_loadu_si512(map->sum + f), _mm512_set1_epi32(zero));
    __m512 scale = _mm512_loadu_ps(map->scale + f), bias = _mm512_loadu_ps(map->bias + f);
    __m512 least = _mm512_set1_ps(relu ? 0 : -INFINITY);
    for (int64_t r = 0; r < rows; r++) {
        __m512i whole = _mm512_sub_epi32(_mm512_loadu_si512(sums + r * SIDE), offset);
        __m512 out = _mm512_mul_ps(_mm512_cvtepi32_ps(whole), scale);
        out = _mm512_fmadd_ps(out, _mm512_set1_ps(scales[r]), bias);
        _mm512_storeu_ps(y + r * y_stride, _mm512_max_ps(least, out)); /* NaN stays */
    }
#else
    const __m256 least = _mm256_set1_ps(relu ? 0 : -INFINITY);
    for (int i = 0; i < SIDE; i += 8) {
        __m256i sum = _mm256_loadu_si256((const __m256i *)(map->sum + f + i));
        __m256i offset = _mm256_mullo_epi32(sum, _mm256_set1_epi32(zero));
        __m256 scale = _mm256_loadu_ps(map->scale + f + i);
        __m256 bias = _mm256_loadu_ps(map->bias + f + i);
        for (int64_t r = 0; r < rows; r++) {
            __m256i whole = _mm256_loadu_si256((const __m256i *)(sums + r * SIDE + i));
            __m256 out = _mm256_cvtepi32_ps(_mm256_sub_epi32(whole, offset));
            out = _mm256_fmadd_ps(_mm256_mul_ps(out, scale), _mm256_set1_ps(scales[r]), bias);
            _mm256_storeu_ps(y + r * y_stride + i, _mm256_max_ps(least, out));
        }
    }
#endif
}

/* Return four neighbouring bytes as one number. */
static inline int32_t four_of(const uint8_t *x) {
    int32_t four;
    memcpy(&four, x, 4);
    return four;
}

/* Quantize one row: signed around 128, or from 0 where nothing is negative.
The scale of a row that is not finite is NaN, and so is all that is computed from it. */
static inline float round_row(const float *x, int64_t inputs, int64_t padded, int32_t zero,
                              uint8_t *whole) {
    int32_t bits = 0; /* of the largest absolute value: as integers, floats have the same order */
#pragma omp simd reduction(max : bits)
    for (int64_t i = 0; i < inputs; i++) {
        int32_t size;
        memcpy(&size, x + i, 4);
        size &= INT32_MAX;
        bits = size > bits ? size : bits;
    }
    float high;
    memcpy(&high, &bits, 4);
    float scale = at_least(high / (zero ? 127.0f : 255.0f), 1e-20f), inverse = 1 / scale;
#pragma omp simd
    for (int64_t i = 0; i < inputs; i++) {
        float near = x[i] * inverse + (float)zero + 0.5f;
        whole[i] = (uint8_t)(int32_t)(near > 0 ? near : 0); /* NaN: 0 */
    }
    for (int64_t i = inputs; i < padded; i++) whole[i] = (uint8_t)zero;
    return scale + high * 0.0f;
}

/* Return the scale of one output; NaN where a weight is not finite. Where products are summed in 16
bits, the positive weights of a sum add up to at most 128, so do the negative: 255 * 128 fits. */
static inline float find_scale(const float *row, int64_t inputs) {
    float high = 0, sums = 0, wrong = 0;
    for (int64_t k = 0; k < inputs; k++) {
        high = fmaxf(high, fabsf(row[k]));
        wrong += row[k] * 0.0f;
    }
#if WORDS
    for (int64_t k = 0; k < inputs; k += 4 * WORDS) {
        float more[2] = {0}, less[2] = {0};
        for (int64_t i = k; i < k + 4 * WORDS && i < inputs; i++)
            *(row[i] > 0 ? more + i / 2 % 2 : less + i / 2 % 2) += fabsf(row[i]);
        for (int i = 0; i < 2; i++) sums = fmaxf(sums, fmaxf(more[i], less[i]));
    }
#endif
    /* Rounding may add a half for each of 2 * WORDS, which counts towards the 128. */
    return at_least(fmaxf(high / LARGEST, sums / (128 - WORDS)), 1e-20f) + wrong;
}

/* Pack W, F by K in fp32; the padding is zero. */
static void pack_map(const float *weight, int64_t outputs, int64_t inputs, int64_t padded,
                     int8_t *packed, float *scale, int32_t *sum) {
    for (int64_t f = 0; f < outputs; f++) {
        const float *row = weight + f * inputs;
        scale[f] = find_scale(row, inputs);
        sum[f] = 0;
        int8_t *block = packed + f / SIDE * SIDE * padded + f % SIDE * 4;
        for (int64_t k = 0; k < inputs && scale[f] == scale[f]; k++) {
            int32_t whole = (int32_t)lrintf(row[k] / scale[f]);
            block[k / 4 * 4 * SIDE + k % 4] = (int8_t)whole;
            sum[f] += whole;
        }
    }
}
