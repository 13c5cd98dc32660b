/* Matrix products of a few rows: weights are read once, and sums stay in registers. */
#pragma once
#include "linear_int8.h"

#ifdef __AVX512VNNI__
typedef __m512i Lanes;
#define ACROSS 4 /* blocks of outputs at once */
#define DOWN 6   /* rows at once */
#define BROADCAST _mm512_set1_epi32
#define ADD_PRODUCTS _mm512_dpbusd_epi32
#else
typedef __m256i Lanes;
#define ACROSS 1
#define BROADCAST _mm256_set1_epi32
#ifdef __AVXVNNI__
#define DOWN 6
#define ADD_PRODUCTS _mm256_dpbusd_avx_epi32
#else
#define DOWN 4
#endif
#endif
#define LANES (int)(sizeof(Lanes) / 4)   /* outputs in a register */
#define WIDE (ACROSS * SIDE / LANES) /* registers for the outputs of a row */

/* Keep the order of instructions: the compiler's own needs more registers than there are. */
#define IN_ORDER(x) __asm__("" : "+x"(x))

static inline Lanes load_lanes(const void *x) {
    Lanes found;
    memcpy(&found, x, sizeof found);
    return found;
}

/* Add the products of some inputs to the sums of `rows` rows and `wide` registers across. */
#if WORDS
#define STEP (4 * WORDS)
static inline __attribute__((always_inline)) void add_step(
    const int8_t *weight, int64_t step, const uint8_t *whole, int64_t stride, int rows, int wide,
    Lanes sums[DOWN][WIDE]) {
    Lanes parts[DOWN][WIDE], one = _mm256_set1_epi16(1); /* 16 bits: see `find_scale` */
#pragma GCC unroll 8
    for (int k = 0; k < STEP; k += 4) {
        Lanes w[WIDE];
#pragma GCC unroll 8
        for (int i = 0; i < wide; i++)
            w[i] = load_lanes(weight + k * SIDE + i * LANES / SIDE * step + i * LANES % SIDE * 4);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            Lanes all = BROADCAST(four_of(whole + r * stride + k));
#pragma GCC unroll 8
            for (int i = 0; i < wide; i++) {
                Lanes both = _mm256_maddubs_epi16(all, w[i]);
                parts[r][i] = k ? _mm256_add_epi16(parts[r][i], both) : both;
                IN_ORDER(parts[r][i]);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int i = 0; i < wide; i++)
            sums[r][i] = _mm256_add_epi32(sums[r][i], _mm256_madd_epi16(parts[r][i], one));
}
#else
#define STEP 4
static inline __attribute__((always_inline)) void add_step(
    const int8_t *weight, int64_t step, const uint8_t *whole, int64_t stride, int rows, int wide,
    Lanes sums[DOWN][WIDE]) {
    Lanes w[WIDE];
#pragma GCC unroll 8
    for (int i = 0; i < wide; i++) {
        const int8_t *from = weight + i * LANES / SIDE * step + i * LANES % SIDE * 4;
        w[i] = load_lanes(from);
        if (rows < 4) _mm_prefetch(from + 1024, _MM_HINT_T0);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        Lanes all = BROADCAST(four_of(whole + r * stride));
#pragma GCC unroll 8
        for (int i = 0; i < wide; i++) {
            sums[r][i] = ADD_PRODUCTS(sums[r][i], all, w[i]);
            IN_ORDER(sums[r][i]);
        }
    }
}
#endif

/* `rows` rows, at most DOWN, of `blocks` blocks of outputs, at most ACROSS. */
static inline __attribute__((always_inline)) void few(
    const Map *map, const Rows *x, int64_t n, int64_t f, int rows, int blocks, int relu,
    float *y, int64_t y_stride) {
    Lanes sums[DOWN][WIDE];
    int64_t step = map->inputs * SIDE;
    int wide = blocks * SIDE / LANES;
    const int8_t *weight = map->weight + f * map->inputs;
    const uint8_t *whole = x->whole + n * x->stride;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int i = 0; i < wide; i++) sums[r][i] = BROADCAST(0);
    for (int64_t k = 0; k < map->inputs; k += STEP)
        add_step(weight + k * SIDE, step, whole + k, x->stride, rows, wide, sums);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        int32_t found[ACROSS * SIDE];
        memcpy(found, sums[r], blocks * SIDE * 4);
        for (int b = 0; b < blocks; b++)
            write_out(found + b * SIDE, 1, map, f + b * SIDE, x->scale + n + r, x->zero, relu,
                      y + (n + r) * y_stride + f + b * SIDE, y_stride);
    }
}

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
