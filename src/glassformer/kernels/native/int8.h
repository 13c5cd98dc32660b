/* Products of whole numbers: y = (x - zero) Wᵀ, exact, each row of x and output of W with its scale.

Letters: N rows; K inputs, padded to a multiple of 64; F outputs, padded to a multiple of 16.
Weights lie as every processor here likes them: F/16 blocks, each K/4 times 16 outputs by 4 inputs.
Inputs are unsigned; `zero` (0 or 128) is taken off again by way of the sums of the weights.
*/
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <immintrin.h>

#define SIDE 16 /* outputs of a block; rows and outputs of a tile */
#define TILED 12 /* rows from which tiles are faster */
#ifdef __AVX512VNNI__
#define LARGEST 127
#else
#define LARGEST 63 /* two products of a byte and such a weight fit into 16 bits */
#endif

typedef struct {
    const int8_t *weight;
    const float *scale; /* F */
    const int32_t *sum; /* F: of an output's weights */
    const float *bias;  /* F */
    int64_t inputs, outputs; /* K and F, padded */
} Map;

typedef struct {
    const uint8_t *whole; /* N rows, `stride` apart; room for a multiple of 32 */
    const float *scale;   /* N */
    int64_t stride;
    int32_t zero;
} Rows;

static inline float at_least(float x, float least) { return x > least ? x : least; }

/* What a product becomes on its way out: 16 outputs of each of `rows` rows. */
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
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < SIDE; i++) {
            float out = (float)(sums[r * SIDE + i] - zero * map->sum[f + i]) * map->scale[f + i];
            out = out * scales[r] + map->bias[f + i];
            y[r * y_stride + i] = relu && out < 0 ? 0 : out;
        }
#endif
}

/* A few rows: weights are read once, whatever comes of them stays in registers. */
#ifdef __AVX512VNNI__
#define ACROSS 4 /* blocks at once */
#define DOWN 6   /* rows at once */
static inline __attribute__((always_inline)) void few(
    const Map *map, const Rows *x, int64_t n, int64_t f, int rows, int blocks, int relu,
    float *y, int64_t y_stride) {
    __m512i sums[DOWN][ACROSS];
    int64_t step = map->inputs * SIDE;
    const int8_t *weight = map->weight + f * map->inputs;
    const uint8_t *whole = x->whole + n * x->stride;
    for (int r = 0; r < rows; r++)
        for (int b = 0; b < blocks; b++) sums[r][b] = _mm512_setzero_si512();
    for (int64_t k = 0; k < map->inputs; k += 4) {
        __m512i w[ACROSS];
        for (int b = 0; b < blocks; b++) {
            w[b] = _mm512_loadu_si512(weight + b * step + k * SIDE);
            if (rows < 4) _mm_prefetch(weight + b * step + k * SIDE + 1024, _MM_HINT_T0);
        }
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, whole + r * x->stride + k, 4);
            __m512i all = _mm512_set1_epi32(four);
            for (int b = 0; b < blocks; b++)
                sums[r][b] = _mm512_dpbusd_epi32(sums[r][b], all, w[b]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int b = 0; b < blocks; b++)
            write_out((int32_t *)&sums[r][b], 1, map, f + b * SIDE, x->scale + n + r, x->zero,
                      relu, y + (n + r) * y_stride + f + b * SIDE, y_stride);
}
#else
#define ACROSS 1
#define DOWN 4
static inline __attribute__((always_inline)) void few(
    const Map *map, const Rows *x, int64_t n, int64_t f, int rows, int blocks, int relu,
    float *y, int64_t y_stride) {
    __m256i low[DOWN], high[DOWN], one = _mm256_set1_epi16(1);
    const int8_t *weight = map->weight + f * map->inputs;
    const uint8_t *whole = x->whole + n * x->stride;
    for (int r = 0; r < rows; r++) low[r] = high[r] = _mm256_setzero_si256();
    for (int64_t k = 0; k < map->inputs; k += 4) {
        __m256i left = _mm256_loadu_si256((const __m256i *)(weight + k * SIDE));
        __m256i right = _mm256_loadu_si256((const __m256i *)(weight + k * SIDE + 32));
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, whole + r * x->stride + k, 4);
            __m256i all = _mm256_set1_epi32(four);
            low[r] = _mm256_add_epi32(
                low[r], _mm256_madd_epi16(_mm256_maddubs_epi16(all, left), one));
            high[r] = _mm256_add_epi32(
                high[r], _mm256_madd_epi16(_mm256_maddubs_epi16(all, right), one));
        }
    }
    for (int r = 0; r < rows; r++) {
        int32_t sums[SIDE];
        _mm256_storeu_si256((__m256i *)sums, low[r]);
        _mm256_storeu_si256((__m256i *)(sums + 8), high[r]);
        write_out(sums, 1, map, f, x->scale + n + r, x->zero, relu, y + (n + r) * y_stride + f,
                  y_stride);
    }
}
#endif

static void multiply_few(const Map *map, const Rows *x, int64_t n, int rows, int64_t first,
                         int64_t last, int relu, float *y, int64_t y_stride) {
#define CASE(r) \
    case r: \
        for (; f + ACROSS * SIDE <= last; f += ACROSS * SIDE) \
            few(map, x, n, f, r, ACROSS, relu, y, y_stride); \
        for (; f < last; f += SIDE) few(map, x, n, f, r, 1, relu, y, y_stride); \
        break;
    int64_t f = first;
    switch (rows) {
        CASE(1) CASE(2) CASE(3) CASE(4)
#if DOWN > 4
        CASE(5) CASE(6)
#endif
    }
#undef CASE
}

#if defined(__AMX_INT8__) && defined(__linux__)
#include "amx.h"

/* 32 rows by 32 outputs at once. */
static void multiply_tiles(const Map *map, const Rows *x, int64_t rows, int64_t first,
                           int64_t last, int relu, float *y, int64_t y_stride) {
    int32_t sums[4][SIDE * SIDE] __attribute__((aligned(64)));
    int64_t step = map->inputs * SIDE, down = SIDE * x->stride;
    use_tiles();
    for (int64_t f = first; f < last; f += 2 * SIDE) {
        int64_t right = f + SIDE < last ? step : 0; /* or the left ones again */
        for (int64_t n = 0; n < rows; n += 2 * SIDE) {
            const int8_t *weight = map->weight + f * map->inputs;
            const uint8_t *whole = x->whole + n * x->stride;
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            _tile_zero(3);
            for (int64_t k = 0; k < map->inputs; k += 64, weight += 64 * SIDE, whole += 64) {
                _tile_loadd(4, whole, x->stride);
                _tile_loadd(6, weight, 64);
                _tile_dpbusd(0, 4, 6);
                _tile_loadd(7, weight + right, 64);
                _tile_dpbusd(2, 4, 7);
                if (rows - n > SIDE) {
                    _tile_loadd(5, whole + down, x->stride);
                    _tile_dpbusd(1, 5, 6);
                    _tile_dpbusd(3, 5, 7);
                }
            }
            _tile_stored(0, sums[0], 64);
            _tile_stored(1, sums[1], 64);
            _tile_stored(2, sums[2], 64);
            _tile_stored(3, sums[3], 64);
            for (int i = 0; i < 4; i++) {
                int64_t r = n + i % 2 * SIDE, c = f + i / 2 * SIDE, left = rows - r;
                if (left > 0 && c < last)
                    write_out(sums[i], left < SIDE ? left : SIDE, map, c, x->scale + r, x->zero,
                              relu, y + r * y_stride + c, y_stride);
            }
        }
    }
    _tile_release();
}
#define HAS_TILES
#endif

/* The outputs [first, last) of all rows: y, `y_stride` apart. */
static void multiply(const Map *map, const Rows *x, int64_t rows, int64_t first, int64_t last,
                     int tiled, int relu, float *y, int64_t y_stride) {
#ifdef HAS_TILES
    if (tiled && rows >= TILED) {
        multiply_tiles(map, x, rows, first, last, relu, y, y_stride);
        return;
    }
#endif
    /* Some outputs at a time, so that their weights stay in the cache for all rows. */
    int64_t width = (1 << 18) / map->inputs / (ACROSS * SIDE) * (ACROSS * SIDE);
    width = width < ACROSS * SIDE ? ACROSS * SIDE : width;
    for (int64_t f = first; f < last; f += width)
        for (int64_t n = 0; n < rows; n += DOWN) {
            int count = rows - n < DOWN ? (int)(rows - n) : DOWN;
            multiply_few(map, x, n, count, f, f + width < last ? f + width : last, relu, y,
                         y_stride);
        }
}

/* The thread's share of so many outputs, in whole pairs of blocks. */
static inline void share_out(int64_t outputs, int thread, int threads, int64_t *first,
                             int64_t *last) {
    int64_t pairs = (outputs + 2 * SIDE - 1) / (2 * SIDE);
    *first = pairs * thread / threads * 2 * SIDE;
    *last = pairs * (thread + 1) / threads * 2 * SIDE;
    if (*last > outputs) *last = outputs;
}

/* One row to whole numbers: signed around 128, or from 0 where nothing is negative.
The scale of a row that is not finite is NaN, and so is whatever is made of it. */
static inline float round_row(const float *x, int64_t inputs, int64_t padded, int32_t zero,
                              uint8_t *whole) {
    float high = 0, wrong = 0;
#pragma omp simd reduction(max : high) reduction(+ : wrong)
    for (int64_t i = 0; i < inputs; i++) {
        float size = fabsf(x[i]);
        high = size > high ? size : high;
        wrong += x[i] * 0.0f;
    }
    float scale = at_least(high / (zero ? 127.0f : 255.0f), 1e-20f), inverse = 1 / scale;
#pragma omp simd
    for (int64_t i = 0; i < inputs; i++)
        whole[i] = (uint8_t)((int32_t)(x[i] * inverse + (float)zero + 0.5f));
    for (int64_t i = inputs; i < padded; i++) whole[i] = (uint8_t)zero;
    return scale + wrong;
}

/* W, F by K in fp32, packed; what lies beyond it is zero. */
static void pack_map(const float *weight, int64_t outputs, int64_t inputs, int64_t padded,
                     int8_t *packed, float *scale, int32_t *sum) {
    for (int64_t f = 0; f < outputs; f++) {
        const float *row = weight + f * inputs;
        float high = 0;
        for (int64_t k = 0; k < inputs; k++) high = fabsf(row[k]) > high ? fabsf(row[k]) : high;
        scale[f] = at_least(high / LARGEST, 1e-20f);
        sum[f] = 0;
        int8_t *block = packed + f / SIDE * SIDE * padded + f % SIDE * 4;
        for (int64_t k = 0; k < inputs; k++) {
            int32_t whole = (int32_t)lrintf(row[k] / scale[f]);
            block[k / 4 * 4 * SIDE + k % 4] = (int8_t)whole;
            sum[f] += whole;
        }
    }
}
