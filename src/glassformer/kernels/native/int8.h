/* Products of any number of rows, on AMX tiles where there are any, and their division among
threads. */
#pragma once
#include "gemm_small.h"

#if defined(__AMX_INT8__) && defined(__linux__)
#include "amx.h"

/* Multiply 32 rows by 32 outputs at once. */
static void multiply_tiles(const Map *map, const Rows *x, int64_t rows, int64_t first,
                           int64_t last, int relu, float *y, int64_t y_stride) {
    int32_t sums[4][SIDE * SIDE] __attribute__((aligned(64)));
    int64_t step = map->inputs * SIDE, down = SIDE * x->stride;
    int64_t turns = (rows + 2 * SIDE - 1) / (2 * SIDE), share = (2 * SIDE + turns - 1) / turns * 64;
    use_tiles();
    for (int64_t f = first; f < last; f += 2 * SIDE) {
        int64_t right = f + SIDE < last ? step : 0; /* or the left block again */
        /* Prefetch the next weights into the L2 cache, a part at each step. */
        const int8_t *ahead = map->weight + (f + 2 * SIDE) * map->inputs, *end = ahead + 2 * step;
        if (f + 2 * SIDE >= last) ahead = end;
        for (int64_t n = 0; n < rows; n += 2 * SIDE) {
            const int8_t *weight = map->weight + f * map->inputs;
            const uint8_t *whole = x->whole + n * x->stride;
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            _tile_zero(3);
            for (int64_t k = 0; k < map->inputs; k += 64, weight += 64 * SIDE, whole += 64) {
                for (const int8_t *to = ahead + share; ahead < to && ahead < end; ahead += 64)
                    _mm_prefetch(ahead, _MM_HINT_T1);
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

/* Compute the outputs [first, last) of all rows into y, whose rows are `y_stride` apart. */
static void multiply(const Map *map, const Rows *x, int64_t rows, int64_t first, int64_t last,
                     int tiled, int relu, float *y, int64_t y_stride) {
#ifdef HAS_TILES
    if (tiled && rows >= TILED) {
        multiply_tiles(map, x, rows, first, last, relu, y, y_stride);
        return;
    }
#endif
    /* A few outputs at a time, so that their weights stay in the cache for all rows. */
    const int64_t width = ACROSS * SIDE;
    for (int64_t f = first; f < last; f += width)
        for (int64_t n = 0; n < rows; n += DOWN) {
            int count = rows - n < DOWN ? (int)(rows - n) : DOWN;
            multiply_few(map, x, n, count, f, f + width < last ? f + width : last, relu, y,
                         y_stride);
        }
}

/* Find the thread's share of so many outputs, in pairs of blocks. */
static inline void share_out(int64_t outputs, int thread, int threads, int64_t *first,
                             int64_t *last) {
    int64_t pairs = (outputs + 2 * SIDE - 1) / (2 * SIDE);
    *first = pairs * thread / threads * 2 * SIDE;
    *last = pairs * (thread + 1) / threads * 2 * SIDE;
    if (*last > outputs) *last = outputs;
}
