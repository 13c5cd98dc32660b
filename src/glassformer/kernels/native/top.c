/* What a search asks of the logits of each row: the logarithm of the sum of their exponentials,
and the largest few. Rows are `row` floats apart. */
#include "rows.h"

#define MANY 64 /* numbers looked at together */

static float find_highest(const float *x, int64_t values) {
    float highs[MANY], high = -INFINITY;
    int64_t v = 0;
    for (int i = 0; i < MANY; i++) highs[i] = -INFINITY;
    for (; v + MANY <= values; v += MANY)
#pragma omp simd
        for (int i = 0; i < MANY; i++) highs[i] = x[v + i] > highs[i] ? x[v + i] : highs[i];
    for (; v < values; v++) highs[0] = x[v] > highs[0] ? x[v] : highs[0];
    for (int i = 0; i < MANY; i++) high = highs[i] > high ? highs[i] : high;
    return high;
}

void top_sum_logs(const float *x, int64_t rows, int64_t values, int64_t row, float *out,
                  int threads) {
#pragma omp parallel for num_threads(threads) if (rows > 1)
    for (int64_t r = 0; r < rows; r++) {
        const float *from = x + r * row;
        float high = find_highest(from, values), sums[MANY] = {0}, sum = 0;
        int64_t v = 0;
        for (; v + MANY <= values; v += MANY)
#pragma omp simd
            for (int i = 0; i < MANY; i++) sums[i] += exponential(from[v + i] - high);
        for (; v < values; v++) sums[0] += exponential(from[v] - high);
        for (int i = 0; i < MANY; i++) sum += sums[i];
        out[r] = high + logf(sum);
    }
}

/* The `size` largest, largest first; of equals the first. */
static void find_row(const float *x, int64_t values, int64_t size, float *value, int64_t *place) {
    for (int64_t c = 0; c < size; c++) value[c] = -INFINITY, place[c] = 0;
    for (int64_t v = 0; v < values; v += MANY) {
        int64_t end = v + MANY < values ? v + MANY : values;
        float least = value[size - 1];
        int some = end < v + MANY;
        if (!some)
#pragma omp simd reduction(| : some)
            for (int i = 0; i < MANY; i++) some |= x[v + i] > least;
        if (!some) continue;
        for (int64_t i = v; i < end; i++) {
            if (!(x[i] > value[size - 1])) continue;
            int64_t c = size - 1;
            for (; c > 0 && x[i] > value[c - 1]; c--) value[c] = value[c - 1], place[c] = place[c - 1];
            value[c] = x[i], place[c] = i;
        }
    }
    for (int64_t c = 0, v = 0; c < size; c++) { /* where there is nothing above -inf: any others */
        if (value[c] > -INFINITY) continue;
        for (int64_t other = 0; other < c; other++)
            if (place[other] == v) v++, other = -1;
        place[c] = v;
    }
}

void top_find(const float *x, int64_t rows, int64_t values, int64_t row, int64_t size,
              float *value, int64_t *place, int threads) {
#pragma omp parallel for num_threads(threads) if (rows > 1)
    for (int64_t r = 0; r < rows; r++)
        find_row(x + r * row, values, size, value + r * size, place + r * size);
}
