/* The k largest values of a row and the logsumexp of the row, in one pass, part by part. */
#pragma once
#include "rows.h"

#define BLOCK 512 /* numbers whose maximum is found before their exponentials */

/* Insert x, which is one of the `size` largest; of equal values the first stays. */
static inline void insert(float x, int64_t number, int64_t size, float *value, int64_t *place) {
    int64_t c = size - 1;
    for (; c > 0 && x > value[c - 1]; c--) value[c] = value[c - 1], place[c] = place[c - 1];
    value[c] = x, place[c] = number;
}

#ifdef __AVX512F__
static float find_highest(const float *x, int64_t values) {
    const __m512 lowest = _mm512_set1_ps(-INFINITY);
    __m512 high[4] = {lowest, lowest, lowest, lowest}; /* four hide the latency of comparisons */
    int64_t v = 0;
    for (; v + 64 <= values; v += 64)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) /* the new ones come first, so that a NaN is ignored */
            high[i] = _mm512_max_ps(_mm512_loadu_ps(x + v + 16 * i), high[i]);
    for (; v < values; v += 16)
        high[0] = _mm512_max_ps(_mm512_mask_loadu_ps(lowest, first_of(values - v), x + v), high[0]);
    return _mm512_reduce_max_ps(
        _mm512_max_ps(_mm512_max_ps(high[0], high[1]), _mm512_max_ps(high[2], high[3])));
}

static float sum_exponentials(const float *x, int64_t values, float high) {
    const __m512 lowest = _mm512_set1_ps(-INFINITY), factor = _mm512_set1_ps(1.44269504f);
    const __m512 shift = _mm512_set1_ps(high * -1.44269504f);
    __m512 sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                     _mm512_setzero_ps()};
    int64_t v = 0;
    for (; v + 64 <= values; v += 64)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            __m512 each = _mm512_fmadd_ps(_mm512_loadu_ps(x + v + 16 * i), factor, shift);
            sum[i] = _mm512_add_ps(sum[i], power_of_2(each));
        }
    for (; v < values; v += 16) {
        __m512 each = _mm512_mask_loadu_ps(lowest, first_of(values - v), x + v);
        sum[0] = _mm512_add_ps(sum[0], power_of_2(_mm512_fmadd_ps(each, factor, shift)));
    }
    return _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3])));
}

/* Insert the values of x, in columns from `from` on, that are among the `size` largest. */
static void let_in(const float *x, int64_t count, int64_t from, int64_t size, float *value,
                   int64_t *place) {
    for (int64_t v = 0; v < count; v += 16) {
        __m512 each = _mm512_maskz_loadu_ps(first_of(count - v), x + v);
        __m512 least = _mm512_set1_ps(value[size - 1]);
        uint32_t some = _mm512_mask_cmp_ps_mask(first_of(count - v), each, least, _CMP_GT_OQ);
        for (; some; some &= some - 1) {
            int64_t i = v + __builtin_ctz(some);
            if (x[i] > value[size - 1]) insert(x[i], from + i, size, value, place);
        }
    }
}
#else
#define MANY 64 /* numbers compared together */

static float find_highest(const float *x, int64_t values) {
    float a = -INFINITY, b = a, c = a, d = a;
    int64_t part = values / 4; /* four hide the latency of comparisons */
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

/* Insert the values of x, in columns from `from` on, that are among the `size` largest. */
static void let_in(const float *x, int64_t count, int64_t from, int64_t size, float *value,
                   int64_t *place) {
    for (int64_t v = 0; v < count; v += MANY) {
        int64_t stop = v + MANY < count ? v + MANY : count;
        float least = value[size - 1];
        int some = stop < v + MANY;
        if (!some)
#pragma omp simd reduction(| : some)
            for (int i = 0; i < MANY; i++) some |= x[v + i] > least;
        for (int64_t i = v; some && i < stop; i++)
            if (x[i] > value[size - 1]) insert(x[i], from + i, size, value, place);
    }
}
#endif

/* A request for R rows. `value`, `place`: R `size`, the largest values and their columns, in
descending order, of the columns from `first` on; `sum`: R, the logsumexp, or NULL. */
typedef struct {
    int64_t values, first, size;
    float *value;
    int64_t *place;
    float *sum;
} Question;

/* The running result of a row. */
typedef struct {
    float high, all; /* the maximum; the sum of exp(x - high) */
} Tally;

static inline Tally begin_survey(const Question *q, int64_t r) {
    float *value = q->value + r * q->size;
    int64_t *place = q->place + r * q->size;
    for (int64_t c = 0; c < q->size; c++) value[c] = -INFINITY, place[c] = q->first;
    return (Tally){-INFINITY, 0};
}

/* Process the next values of row r: x has those from `from`, a multiple of BLOCK, to `end`. */
static void read_on(const Question *q, int64_t r, const float *x, int64_t from, int64_t end,
                    Tally *tally) {
    float *value = q->value + r * q->size;
    if (end > q->values) end = q->values;
    for (; from < end; from += BLOCK, x += BLOCK) {
        int64_t count = end - from < BLOCK ? end - from : BLOCK;
        float highest = find_highest(x, count);
        if (q->size && highest > value[q->size - 1]) {
            int64_t skip = q->first > from ? q->first - from : 0;
            let_in(x + skip, count - skip, from + skip, q->size, value, q->place + r * q->size);
        }
        if (!q->sum) continue;
        if (highest > tally->high) {
            tally->all *= exponential(tally->high - highest);
            tally->high = highest;
        }
        tally->all += sum_exponentials(x, count, tally->high > -INFINITY ? tally->high : 0);
    }
}

static void end_survey(const Question *q, int64_t r, Tally tally) {
    float *value = q->value + r * q->size;
    int64_t *place = q->place + r * q->size;
    if (q->sum) q->sum[r] = tally.high + logf(tally.all);
    for (int64_t c = 0, v = q->first; c < q->size; c++) { /* -inf: any other column */
        if (value[c] > -INFINITY) continue;
        for (int64_t other = 0; other < c; other++)
            if (place[other] == v) v++, other = -1;
        place[c] = v;
    }
}
