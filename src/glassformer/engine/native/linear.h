/* A packed linear map y = x Wᵀ + b, and the rows that it is applied to.

Letters: N rows; K inputs; F outputs. Both are padded: F to a multiple of PAD; K to a multiple of
DEEP in int8, of PAD in fp32. Padding is zero, so that padded outputs are exactly 0.

Layout of the weights, the same on all instruction sets: F/16 blocks of 16 outputs.
fp32: each block is K rows of 16 floats. int8: each block is K/4 groups of 16 outputs by 4 inputs.
*/
#pragma once
#include "quantize.h"

#define BLOCK 16 /* outputs of a block; rows and outputs of an AMX tile */

typedef struct {
    const void *weight;    /* float or int8_t */
    const float *bias;     /* F */
    const float *scale;    /* F; int8 only, like the next two */
    const int32_t *offset; /* F: what sums begin with, since `zero` is not subtracted from inputs */
    int32_t zero;          /* the byte that stands for an input of 0: see quantize.h */
    int32_t inputs, outputs; /* K and F, padded */
} Linear;

/* Rows that a linear map reads: floats for fp32, bytes and their scales for int8. */
typedef struct {
    const float *x;
    const uint8_t *bytes; /* memory for a multiple of 32 rows */
    const float *scale;   /* N */
    int64_t stride;       /* from row to row: floats, or bytes */
} Rows;

/* Return the part of a linear map with at most `count` outputs from `first` on, a multiple of 16. */
static inline Linear take_outputs(const Linear *all, int64_t first, int64_t count, int is_int8) {
    Linear part = *all;
    int64_t size = first * all->inputs * (is_int8 ? 1 : 4);
    part.weight = (const char *)all->weight + size;
    part.bias += first;
    if (is_int8) part.scale += first, part.offset += first;
    part.outputs = (int32_t)smaller(all->outputs - first, count);
    return part;
}
