// Residual connection, dropout and LayerNorm in one pass over the rows, and their gradients.
//
// s = x + drop(y); out = (s - mean) / deviation * gain + bias. Sums over rows are taken within
// blocks of ROWS and then over blocks, in the same order for any number of threads.

#include "math.h"
#include <math.h>

enum { ROWS = 64 };

static inline void add_row(const float *x, const void *y, int is_low, const float *factor,
                           long width, float *s) {
    const bf16 *low = y;
    const float *high = y;
    if (!y) {
        memcpy(s, x, width * 4);
    } else if (is_low) {
        if (factor)
            for (long j = 0; j < width; j++)
                s[j] = x[j] + (factor[j] == 0 ? 0 : widen(low[j]) * factor[j]);
        else
            for (long j = 0; j < width; j++) s[j] = x[j] + widen(low[j]);
    } else {
        if (factor)
            for (long j = 0; j < width; j++)
                s[j] = x[j] + (factor[j] == 0 ? 0 : high[j] * factor[j]);
        else
            for (long j = 0; j < width; j++) s[j] = x[j] + high[j];
    }
}

static inline const void *at(const void *start, int is_low, long offset) {
    return start ? (const char *)start + offset * (is_low ? 2 : 4) : NULL;
}

// y may be NULL, and so may gain: then only the sum is computed. out or low may be NULL; mean and
// slant, 1 / deviation, are kept for the backward pass. `first`: the first row's number for
// dropout.
int add_norm(const float *x, const void *y, int is_low, const Drop *drop, long first,
             const float *gain, const float *bias, float epsilon, long rows, long width,
             float *out, bf16 *low, float *mean, float *slant, int threads) {
    int failed = 0;
#pragma omp parallel num_threads(threads)
    {
        float *s = room(width, 4), *drawn = room(width + 32, 4);
        const float *factor = drop->share ? drawn : NULL;
        if (!(s && drawn)) failed = 1;
#pragma omp barrier
        long todo = failed ? 0 : rows;
#pragma omp for schedule(static)
        for (long r = 0; r < todo; r++) {
            if (factor) draw(drop, first + r, width, drawn);
            float *to = gain ? s : out + r * width;
            add_row(x + r * width, at(y, is_low, r * width), is_low, factor, width, to);
            if (!gain) continue;
            float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
            for (long j = 0; j < width; j++) sum += s[j];
            float middle = sum / width;
#pragma omp simd reduction(+ : squares)
            for (long j = 0; j < width; j++) squares += (s[j] - middle) * (s[j] - middle);
            float by = 1 / sqrtf(squares / width + epsilon);
            mean[r] = middle, slant[r] = by;
            for (long j = 0; j < width; j++) s[j] = (s[j] - middle) * by * gain[j] + bias[j];
            if (out) memcpy(out + r * width, s, width * 4);
            if (low)
                for (long j = 0; j < width; j++) low[r * width + j] = narrow(s[j]);
        }
        free(s), free(drawn);
    }
    return failed;
}

static inline void store_drop(const float *d, const float *factor, int is_low, long width,
                              void *to) {
    bf16 *low = to;
    float *high = to;
    if (!factor && !is_low)
        memcpy(to, d, width * 4);
    else if (!factor)
        for (long j = 0; j < width; j++) low[j] = narrow(d[j]);
    else if (is_low)
        for (long j = 0; j < width; j++) low[j] = narrow(factor[j] == 0 ? 0 : d[j] * factor[j]);
    else
        for (long j = 0; j < width; j++) high[j] = factor[j] == 0 ? 0 : d[j] * factor[j];
}

// Computes the gradients of x (`dx`) and y (`dy`, NULL if there is none), and of gain and bias. The
// incoming gradient is that of `out` plus that of `low`; either may be NULL. `parts`: scratch
// memory of 2 x width values for every ROWS rows.
int add_norm_backward(const float *g, const bf16 *g_low, const float *x, const void *y, int is_low,
                       const Drop *drop, long first, const float *gain, const float *mean,
                       const float *slant, long rows, long width, float *dx, void *dy,
                       float *parts, float *dgain, float *dbias, int threads) {
    long blocks = (rows + ROWS - 1) / ROWS;
    int failed = 0;
#pragma omp parallel num_threads(threads)
    {
        float *s = room(width, 4), *d = room(width, 4), *drawn = room(width + 32, 4);
        const float *factor = drop->share ? drawn : NULL;
        if (!(s && d && drawn)) failed = 1;
#pragma omp barrier
        long todo = failed ? 0 : blocks;
#pragma omp for schedule(static)
        for (long block = 0; block < todo; block++) {
            float *restrict grad_gain = parts + block * 2 * width;
            float *restrict grad_bias = grad_gain + width;
            memset(grad_gain, 0, 2 * width * 4);
            for (long r = block * ROWS; r < rows && r < (block + 1) * ROWS; r++) {
                if (factor) draw(drop, first + r, width, drawn);
                const float *one = g ? g + r * width : NULL;
                const bf16 *two = g_low ? g_low + r * width : NULL;
                if (one && two)
                    for (long j = 0; j < width; j++) d[j] = one[j] + widen(two[j]);
                else if (two)
                    for (long j = 0; j < width; j++) d[j] = widen(two[j]);
                else
                    memcpy(d, one, width * 4);
                if (gain) {
                    add_row(x + r * width, at(y, is_low, r * width), is_low, factor, width, s);
                    float middle = mean[r], by = slant[r], sum = 0, along = 0;
#pragma omp simd reduction(+ : sum, along)
                    for (long j = 0; j < width; j++) {
                        float unit = (s[j] - middle) * by;
                        grad_gain[j] += d[j] * unit;
                        grad_bias[j] += d[j];
                        d[j] *= gain[j];
                        s[j] = unit;
                        sum += d[j];
                        along += d[j] * unit;
                    }
                    sum /= width, along /= width;
                    for (long j = 0; j < width; j++) d[j] = (d[j] - sum - s[j] * along) * by;
                }
                if (dx) memcpy(dx + r * width, d, width * 4);
                if (dy) store_drop(d, factor, is_low, width, (void *)at(dy, is_low, r * width));
            }
        }
        free(s), free(d), free(drawn);
    }
    if (!gain || failed) return failed;
    memset(dgain, 0, width * 4), memset(dbias, 0, width * 4);
    for (long block = 0; block < blocks; block++) {
        const float *part = parts + block * 2 * width;
        for (long j = 0; j < width; j++) dgain[j] += part[j], dbias[j] += part[width + j];
    }
    return 0;
}
