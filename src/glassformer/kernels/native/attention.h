/* Attention of one query over rows of a table that are found by index, without copies.

A table has a row for each slot: the keys of all heads, then their values, in bf16.
*/
#pragma once
#include <immintrin.h>
#include "rows.h"

typedef struct {
    const bf16 *table;
    const int32_t *places; /* the slots; NULL: one after the other */
    int64_t count;
} View;

static inline const bf16 *find(View view, int64_t t, int64_t every) {
    return view.table + (view.places ? view.places[t] : t) * 2 * every;
}

/* Prefetch one head's key and value of a row that the next query needs. */
static inline void prefetch(const bf16 *head, int64_t every, int64_t width) {
    for (int64_t i = 0; i < width; i += 32) {
        _mm_prefetch((const char *)(head + i), _MM_HINT_T0);
        _mm_prefetch((const char *)(head + every + i), _MM_HINT_T0);
    }
}

#ifdef __AVX512BF16__
static inline __m512bh load_32(const bf16 *x) { return (__m512bh)_mm512_loadu_si512(x); }

/* Return the sums of 16 vectors. */
static inline __m512 sum_each(__m512 *x) {
    for (int i = 0; i < 8; i++) /* each lane of 128 bits then has sums of two vectors */
        x[i] = _mm512_add_ps(_mm512_unpacklo_ps(x[i], x[i + 8]), _mm512_unpackhi_ps(x[i], x[i + 8]));
    for (int i = 0; i < 4; i++)
        x[i] = _mm512_add_ps(_mm512_unpacklo_ps(x[i], x[i + 4]), _mm512_unpackhi_ps(x[i], x[i + 4]));
    for (int i = 0; i < 2; i++)
        x[i] = _mm512_add_ps(_mm512_shuffle_f32x4(x[i], x[i + 2], 0x88),
                             _mm512_shuffle_f32x4(x[i], x[i + 2], 0xdd));
    x[0] = _mm512_add_ps(_mm512_shuffle_f32x4(x[0], x[1], 0x88), _mm512_shuffle_f32x4(x[0], x[1], 0xdd));
    const __m512i order = _mm512_setr_epi32(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15);
    return _mm512_permutexvar_ps(order, x[0]);
}

/* Compute the scores of one head: q times each key. The width of a head is a multiple of 32, at
most 128. Query and weights are rounded to bf16. */
static inline __attribute__((always_inline)) void score(const float *q, View view, int64_t every,
                                                        int64_t width, float *scores) {
    __m512bh query[4];
    int64_t parts = width / 32;
    for (int64_t p = 0; p < parts; p++)
        query[p] = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(q + 32 * p + 16), _mm512_loadu_ps(q + 32 * p));
    for (int64_t t = 0; t < view.count; t += PART) {
        __m512 sums[PART];
#pragma GCC unroll 16
        for (int64_t i = 0; i < PART; i++) {
            sums[i] = _mm512_setzero_ps();
            if (t + i >= view.count) continue;
            const bf16 *key = find(view, t + i, every);
            for (int64_t p = 0; p < parts; p++)
                sums[i] = _mm512_dpbf16_ps(sums[i], query[p], load_32(key + 32 * p));
        }
        _mm512_storeu_ps(scores + t, sum_each(sums));
    }
}

/* The sum of the values of one head, each with its weight. */
static inline __attribute__((always_inline)) void sum_values(View view, int64_t every,
                                                             int64_t width, float *scores,
                                                             float *out) {
    __m512 low[4], high[4];
    int64_t parts = width / 32;
    for (int64_t p = 0; p < parts; p++) low[p] = high[p] = _mm512_setzero_ps();
    uint32_t *pairs = (uint32_t *)scores; /* in place, because they are half as long */
    for (int64_t t = 0; t < view.count; t += PART)
        _mm256_storeu_si256((__m256i *)((bf16 *)pairs + t),
                            (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(scores + t)));
    for (int64_t t = 0; t < view.count; t += 2) { /* two slots in each product */
        const bf16 *one = find(view, t, every) + every;
        const bf16 *two = t + 1 < view.count ? find(view, t + 1, every) + every : one;
        __m512bh weights = (__m512bh)_mm512_set1_epi32((int32_t)pairs[t / 2]);
        for (int64_t p = 0; p < parts; p++) {
            __m512i a = (__m512i)load_32(one + 32 * p), b = (__m512i)load_32(two + 32 * p);
            low[p] = _mm512_dpbf16_ps(low[p], weights, (__m512bh)_mm512_unpacklo_epi16(a, b));
            high[p] = _mm512_dpbf16_ps(high[p], weights, (__m512bh)_mm512_unpackhi_epi16(a, b));
        }
    }
    const __m512i front = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i back = _mm512_add_epi32(front, _mm512_set1_epi32(8));
    for (int64_t p = 0; p < parts; p++) {
        _mm512_storeu_ps(out + 32 * p, _mm512_permutex2var_ps(low[p], front, high[p]));
        _mm512_storeu_ps(out + 32 * p + 16, _mm512_permutex2var_ps(low[p], back, high[p]));
    }
}
#elif defined(__AVX2__) && defined(__FMA__)
static inline __m256 load_8(const bf16 *x) {
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)x));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

/* Compute the scores of one head: q times each key. The width is a multiple of 32, at most 128. */
static inline __attribute__((always_inline)) void score(const float *q, View view, int64_t every,
                                                        int64_t width, float *scores) {
    int64_t parts = width / 8;
    for (int64_t t = 0; t < view.count; t += 4) {
        __m256 each[4];
#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; i++) {
            each[i] = _mm256_setzero_ps();
            if (t + i >= view.count) continue;
            const bf16 *key = find(view, t + i, every);
            for (int64_t p = 0; p < parts; p++)
                each[i] = _mm256_fmadd_ps(_mm256_loadu_ps(q + 8 * p), load_8(key + 8 * p), each[i]);
        }
        __m256 both = _mm256_hadd_ps(_mm256_hadd_ps(each[0], each[1]),
                                     _mm256_hadd_ps(each[2], each[3]));
        _mm_storeu_ps(scores + t, _mm_add_ps(_mm256_castps256_ps128(both),
                                             _mm256_extractf128_ps(both, 1)));
    }
}

/* The sum of the values of one head, each with its weight. */
static inline __attribute__((always_inline)) void sum_values(View view, int64_t every,
                                                             int64_t width, float *scores,
                                                             float *out) {
    __m256 sums[16];
    int64_t parts = width / 8;
    for (int64_t p = 0; p < parts; p++) sums[p] = _mm256_setzero_ps();
    for (int64_t t = 0; t < view.count; t++) {
        const bf16 *value = find(view, t, every) + every;
        __m256 weight = _mm256_set1_ps(scores[t]);
        for (int64_t p = 0; p < parts; p++)
            sums[p] = _mm256_fmadd_ps(weight, load_8(value + 8 * p), sums[p]);
    }
    for (int64_t p = 0; p < parts; p++) _mm256_storeu_ps(out + 8 * p, sums[p]);
}
#else
#define PLAIN
#endif

/* The same for a head of any width. */
static void score_plainly(const float *q, View view, int64_t every, int64_t width, float *scores) {
    for (int64_t t = 0; t < view.count; t++) {
        const bf16 *key = find(view, t, every);
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < width; i++) sum += q[i] * widen(key[i]);
        scores[t] = sum;
    }
}

static void sum_values_plainly(View view, int64_t every, int64_t width, const float *scores,
                               float *out) {
    for (int64_t i = 0; i < width; i++) out[i] = 0;
    for (int64_t t = 0; t < view.count; t++) {
        const bf16 *value = find(view, t, every) + every;
#pragma omp simd
        for (int64_t i = 0; i < width; i++) out[i] += scores[t] * widen(value[i]);
    }
}

#define SIDE_BY_SIDE 4 /* heads computed together, which hides the latency of sums */

/* Compute out = softmax(q Kᵀ) V of a few heads; q is scaled already. */
static inline __attribute__((always_inline)) void look_aside(
    const float *q, View view, View next, int64_t every, int64_t width, int heads, int plainly,
    float *scores, int64_t scratch, float *out) {
    for (int h = 0; h < heads; h++) {
        View head = {view.table + h * width, view.places, view.count};
        if (plainly) score_plainly(q + h * width, head, every, width, scores + h * scratch);
        else score(q + h * width, head, every, width, scores + h * scratch);
    }
    for (int64_t t = 0; t < next.count; t++)
        prefetch(find(next, t, every), every, heads * width);
    weigh(scores, view.count, heads, scratch);
    for (int h = 0; h < heads; h++) {
        View head = {view.table + h * width, view.places, view.count};
        if (plainly)
            sum_values_plainly(head, every, width, scores + h * scratch, out + h * width);
        else sum_values(head, every, width, scores + h * scratch, out + h * width);
    }
}

/* Compute heads [first, last). scores: scratch memory for SIDE_BY_SIDE heads, `scratch` floats
each. next: the rows of the next query, which are prefetched. */
static void look(const float *q, View view, View next, int64_t every, int64_t width,
                 int64_t first, int64_t last, float *scores, int64_t scratch, float *out) {
    for (int64_t h = first, few; h < last; h += few) {
        int64_t at = h * width;
        few = last - h < SIDE_BY_SIDE ? 1 : SIDE_BY_SIDE;
        View here = {view.table + at, view.places, view.count};
        View there = {next.table + at, next.places, next.count};
#define LOOK(heads, width, plainly)                                                                \
    look_aside(q + at, here, there, every, width, heads, plainly, scores, scratch, out + at)
#ifndef PLAIN
        if (width == 64 && few > 1) LOOK(SIDE_BY_SIDE, 64, 0);
        else if (width % 32 == 0 && width <= 128) LOOK(few, width, 0);
        else
#endif
            LOOK(few, width, 1);
#undef LOOK
    }
}

/* Write the keys and values of a row, the last two thirds of its projection, to the table. */
static inline void keep_row(const float *both, int64_t every, bf16 *row) {
#pragma omp simd
    for (int64_t i = 0; i < 2 * every; i++) row[i] = narrow(both[i]);
}
