/* What a search asks of the logits of each row, in one reading: the logarithm of the sum of their
exponentials, and the largest few. Rows are `row` floats apart. */
#include "rows.h"

#define MANY 64    /* numbers looked at together */
#define BLOCK 1024 /* numbers whose largest is found before their exponentials are */

static float find_highest(const float *x, int64_t values) {
    float a = -INFINITY, b = a, c = a, d = a;
    int64_t part = values / 4; /* each comparison waits for the last */
#pragma omp simd reduction(max : a, b, c, d)
    for (int64_t i = 0; i < part; i++) {
        a = x[i] > a ? x[i] : a;
        b = x[i + part] > b ? x[i + part] : b;
        c = x[i + 2 * part] > c ? x[i + 2 * part] : c;
        d = x[i + 3 * part] > d ? x[i + 3 * part] : d;
    }
    for (int64_t i = 4 * part; i < values; i++) a = x[i] > a ? x[i] : a;
    a = a > b ? a : b;
    c = c > d ? c : d;
    return a > c ? a : c;
}

static float sum_exponentials(const float *x, int64_t values, float high) {
    float a = 0, b = 0, c = 0, d = 0;
    int64_t part = values / 4;
#pragma omp simd reduction(+ : a, b, c, d)
    for (int64_t i = 0; i < part; i++) {
        a += exponential(x[i] - high);
        b += exponential(x[i + part] - high);
        c += exponential(x[i + 2 * part] - high);
        d += exponential(x[i + 3 * part] - high);
    }
    for (int64_t i = 4 * part; i < values; i++) a += exponential(x[i] - high);
    return a + b + (c + d);
}

/* Let in what of x[first, end) is among the `size` largest; of equals the first stays. */
static void let_in(const float *x, int64_t first, int64_t end, int64_t size, float *value,
                   int64_t *place) {
    for (int64_t v = first; v < end; v += MANY) {
        int64_t stop = v + MANY < end ? v + MANY : end;
        float least = value[size - 1];
        int some = stop < v + MANY;
        if (!some)
#pragma omp simd reduction(| : some)
            for (int i = 0; i < MANY; i++) some |= x[v + i] > least;
        if (!some) continue;
        for (int64_t i = v; i < stop; i++) {
            if (!(x[i] > value[size - 1])) continue;
            int64_t c = size - 1;
            for (; c > 0 && x[i] > value[c - 1]; c--) value[c] = value[c - 1], place[c] = place[c - 1];
            value[c] = x[i], place[c] = i;
        }
    }
}

static void survey(const float *x, int64_t values, int64_t first, int64_t size, float *value,
                   int64_t *place, float *sum) {
    float high = -INFINITY, all = 0;
    for (int64_t c = 0; c < size; c++) value[c] = -INFINITY, place[c] = first;
    for (int64_t v = 0; v < values; v += BLOCK) {
        int64_t end = v + BLOCK < values ? v + BLOCK : values;
        float highest = find_highest(x + v, end - v);
        if (size && highest > value[size - 1])
            let_in(x, v > first ? v : first, end, size, value, place);
        if (!sum) continue;
        if (highest > high) {
            all *= exponential(high - highest);
            high = highest;
        }
        all += sum_exponentials(x + v, end - v, high > -INFINITY ? high : 0);
    }
    if (sum) *sum = high + logf(all);
    for (int64_t c = 0, v = first; c < size; c++) { /* where there is nothing above -inf: any others */
        if (value[c] > -INFINITY) continue;
        for (int64_t other = 0; other < c; other++)
            if (place[other] == v) v++, other = -1;
        place[c] = v;
    }
}

/* value, place: R `size`, largest first, of the places from `first` on; sum: R, or NULL. */
void top_survey(const float *x, int64_t rows, int64_t values, int64_t row, int64_t first,
                int64_t size, float *value, int64_t *place, float *sum, int threads) {
#pragma omp parallel for num_threads(threads) if (rows > 1)
    for (int64_t r = 0; r < rows; r++)
        survey(x + r * row, values, first, size, value + r * size, place + r * size,
               sum ? sum + r : NULL);
}
