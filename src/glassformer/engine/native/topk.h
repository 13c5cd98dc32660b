/* The k largest logits of a row and their logsumexp, in one pass, part by part. */
#pragma once
#include "network.h"
#include "vector.h"

#define TOGETHER 512 /* logits whose maximum is found before their exponentials */
#define FEW 64       /* best logits that are kept in order; more are a heap until the row ends */

/* What is known of a row so far. */
typedef struct {
    float high, sum; /* the maximum; the sum of exp(x - high) */
} Running;

/* Insert x, which is one of the `size` largest; of equal values the first stays. */
static inline void insert(float x, int32_t id, int32_t size, float *value, int32_t *ids) {
    int32_t c = size - 1;
    for (; c > 0 && x > value[c - 1]; c--) value[c] = value[c - 1], ids[c] = ids[c - 1];
    value[c] = x, ids[c] = id;
}

/* Return whether x is worse than another value: smaller, or equal and of a later token. */
static inline int is_worse(float x, int32_t id, float other, int32_t other_id) {
    return x < other || (x == other && id > other_id);
}

/* Put x into a heap of `size` values, whose worst is the first, at place `at` or below it. */
static inline void sift_down(float x, int32_t id, int32_t size, int32_t at, float *value,
                             int32_t *ids) {
    for (int32_t c; (c = 2 * at + 1) < size; at = c) {
        if (c + 1 < size && is_worse(value[c + 1], ids[c + 1], value[c], ids[c])) c++;
        if (!is_worse(value[c], ids[c], x, id)) break;
        value[at] = value[c], ids[at] = ids[c];
    }
    value[at] = x, ids[at] = id;
}

/* Put a heap whose worst is the first in order, the largest first. */
static inline void sort_heap(int32_t size, float *value, int32_t *ids) {
    for (int32_t last = size - 1; last > 0; last--) {
        float x = value[last];
        int32_t id = ids[last];
        value[last] = value[0], ids[last] = ids[0];
        sift_down(x, id, last, 0, value, ids);
    }
}

static inline Running begin_row(const Best *best, int64_t r) {
    for (int32_t c = 0; c < best->size; c++) {
        best->value[r * best->size + c] = -INFINITY;
        best->id[r * best->size + c] = best->first;
    }
    return (Running){-INFINITY, 0};
}

/* Process logits x of the tokens from `from` to `end`, at most TOGETHER. Behind them is memory for
a multiple of PAD, which is overwritten. */
static inline void process_logits(const Best *best, int64_t r, float *x, int32_t from, int32_t end,
                                  Running *running) {
    int32_t count = end - from, size = best->size;
    float *value = size ? best->value + r * size : NULL;
    int32_t *ids = size ? best->id + r * size : NULL;
    const float *worst = size && size <= FEW ? value + size - 1 : value;
    for (int32_t v = count; v % PAD; v++) x[v] = -INFINITY;
    Vec highs[4];
    for (int i = 0; i < 4; i++) highs[i] = v_set(-INFINITY);
    int32_t v = 0;
    for (; v + 4 * LANES <= count; v += 4 * LANES)
        for (int i = 0; i < 4; i++) /* x comes first, so that a NaN is ignored */
            highs[i] = v_max(v_load(x + v + i * LANES), highs[i]);
    for (; v < count; v += LANES) highs[0] = v_max(v_load(x + v), highs[0]);
    highs[0] = v_max(v_max(highs[0], highs[1]), v_max(highs[2], highs[3]));
    float highest = v_largest(highs[0]);
    if (size && highest > *worst) {
        int32_t first = best->first > from ? best->first - from : 0;
        for (v = first / LANES * LANES; v < count; v += LANES) {
            if (!v_any_above(v_load(x + v), v_set(*worst))) continue;
            for (int32_t i = v > first ? v : first; i < v + LANES; i++) /* -inf is never above */
                if (x[i] > *worst && size > FEW) sift_down(x[i], from + i, size, 0, value, ids);
                else if (x[i] > *worst) insert(x[i], from + i, size, value, ids);
        }
    }
    if (highest > running->high) {
        running->sum *= expf(running->high - highest);
        running->high = highest;
    }
    Vec sums[2] = {v_set(0), v_set(0)}, shift = v_set(running->high > -INFINITY ? running->high : 0);
    for (v = 0; v + 2 * LANES <= count; v += 2 * LANES) {
        sums[0] = sums[0] + v_exp(v_load(x + v) - shift);
        sums[1] = sums[1] + v_exp(v_load(x + v + LANES) - shift);
    }
    for (; v < count; v += LANES)
        sums[0] = sums[0] + v_first(v_exp(v_load(x + v) - shift), count - v);
    running->sum += v_sum(sums[0] + sums[1]);
}

static inline void end_row(const Best *best, int64_t r, Running running) {
    int64_t at = r * best->size;
    if (best->size > FEW) sort_heap(best->size, best->value + at, best->id + at);
    best->logsumexp[r] = running.high + logf(running.sum);
}

/* Return ln Σ e^(factor x). */
static inline float log_sum_exp(const float *x, int32_t size, float factor) {
    float part[TOGETHER + PAD], sum;
    Best best = {.logsumexp = &sum};
    Running running = begin_row(&best, 0);
    for (int32_t from = 0; from < size; from += TOGETHER) {
        int32_t end = size - from < TOGETHER ? size : from + TOGETHER;
        for (int32_t i = from; i < end; i++) part[i - from] = x[i] * factor;
        process_logits(&best, 0, part, from, end, &running);
    }
    end_row(&best, 0, running);
    return sum;
}

/* Fill in the best of row n, whose `size` logits are x. */
static inline void take_best(const Best *best, int64_t n, const float *x, int32_t size) {
    float part[TOGETHER + PAD];
    Running running = begin_row(best, n);
    for (int32_t from = 0; from < size; from += TOGETHER) {
        int32_t end = size - from < TOGETHER ? size : from + TOGETHER;
        memcpy(part, x + from, (size_t)(end - from) * sizeof *part);
        process_logits(best, n, part, from, end, &running);
    }
    end_row(best, n, running);
    if (best->wanted) best->wanted_logit[n] = x[best->wanted[n]];
}

/* Return the error in what is asked of `count` tokens, or GF_OK. */
static inline int check_best(const Best *best, int32_t count, int32_t vocabulary) {
    if (!best || best->first < 0 || best->first > vocabulary || best->size < 0 ||
        best->size > vocabulary - best->first)
        return GF_BAD_REQUEST;
    for (int32_t n = 0; n < count && best->wanted; n++)
        if (best->wanted[n] < 0 || best->wanted[n] >= vocabulary) return GF_TOKEN_OUT_OF_RANGE;
    return GF_OK;
}
