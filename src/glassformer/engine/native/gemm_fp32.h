/* The product of rows with an fp32 linear map: the truth that int8 is measured against.

Each output is a sum over the inputs in their order, whatever rows are computed beside it, so that
the result of a row does not depend on other rows.
*/
#pragma once
#include "linear.h"

#if LANES == 16
#define FP32_ACROSS 4 /* blocks of outputs at once */
#define FP32_DOWN 6   /* rows at once */
#elif LANES == 8 || defined __aarch64__
#define FP32_ACROSS 1
#define FP32_DOWN 6
#else
#define FP32_ACROSS 1
#define FP32_DOWN 2
#endif
#define FP32_SETS (FP32_ACROSS * BLOCK / LANES) /* registers for the outputs of a row */

INLINE void fp32_block(const Linear *map, const Rows *in, int64_t n, int64_t f, int rows,
                       int blocks, int relu, float *y, int64_t y_stride) {
    Vec sums[FP32_DOWN][FP32_SETS];
    int64_t step = (int64_t)map->inputs * BLOCK;
    int sets = blocks * BLOCK / LANES;
    const float *weight = (const float *)map->weight + f * map->inputs;
    const float *x = in->x + n * in->stride;
    UNROLLED(i, sets)
        UNROLLED(r, rows) sums[r][i] = v_load(map->bias + f + i * LANES);
    for (int64_t k = 0; k < map->inputs; k++) {
        Vec w[FP32_SETS];
        UNROLLED(i, sets)
            w[i] = v_load(weight + k * BLOCK + i * LANES / BLOCK * step + i * LANES % BLOCK);
        UNROLLED(r, rows) {
            Vec each = v_set(x[r * in->stride + k]);
            UNROLLED(i, sets) sums[r][i] = each * w[i] + sums[r][i];
        }
    }
    UNROLLED(i, sets)
        UNROLLED(r, rows) {
            Vec out = relu ? v_max(v_set(0), sums[r][i]) : sums[r][i]; /* NaN stays */
            v_store(y + (n + r) * y_stride + f + i * LANES, out);
        }
}

/* Compute all outputs of all rows into y, whose rows are `y_stride` apart. */
static inline void gemm_fp32(const Linear *map, const Rows *x, int64_t rows, int relu, float *y,
                      int64_t y_stride) {
#define MULTIPLY(r)                                                      \
    if (f + width == last)                                               \
        fp32_block(map, x, n, f, r, FP32_ACROSS, relu, y, y_stride);     \
    else                                                                 \
        for (int64_t g = f; g < last; g += BLOCK)                        \
            fp32_block(map, x, n, g, r, 1, relu, y, y_stride);
    const int64_t width = FP32_ACROSS * BLOCK;
    for (int64_t f = 0; f < map->outputs; f += width) {
        int64_t last = smaller(f + width, map->outputs);
        for (int64_t n = 0; n < rows; n += FP32_DOWN)
            WITH_CONSTANT(smaller(rows - n, FP32_DOWN), FP32_DOWN, MULTIPLY)
    }
#undef MULTIPLY
}
