/* Attention: queries over the keys and values of one source, or of one row's slots.

Letters: H heads; K width of a head, padded to 8 or to a multiple of 16; D = H K, all heads side by
side, padded to a multiple of 16; S source positions, padded to a multiple of APART; T positions.
Keys and values are bf16 or fp32; queries are fp32 and include 1/√d_k.

A source: its keys, transposed, D by S, in units of 4 bytes: a unit holds one fp32 number, or two
neighbours of D in bf16; then its values, S by D. The last keys of a row are read together with the
first ones of the next, whose scores are not used. One load of keys serves 16 positions, and all
queries of a sentence, as the hypotheses of a beam are.
A slot: the D keys of one position of one row, then its D values.
*/
#pragma once
#include "network.h"
#include "vector.h"

#if LANES > 4 || defined __aarch64__
#define QUERIES 6 /* at most so many queries of a source at once */
#else
#define QUERIES 3 /* for 16 registers of 4 numbers */
#endif
#define GROUP 64 /* numbers of D whose heads are computed at once */
#if LANES == 8
#define COLUMNS 2 /* vectors of outputs that QUERIES queries keep in registers */
#else
#define COLUMNS 4
#endif
#define APART 8 /* source positions are padded to a multiple of these */
#define SAFE 60.0f /* scores up to this have exponentials whose sum is finite and not tiny */

#ifdef __AVX512BF16__
#define PACKS 1 /* there are products of pairs of bf16 */
#else
#define PACKS 0
#endif

typedef struct {
    int32_t heads, width, row; /* H; K and D, both padded */
    int32_t is_bf16;
} Heads;

static inline int64_t bytes_of(const Heads *heads) { return heads->is_bf16 ? 2 : 4; }

INLINE void store_numbers(char *row, int64_t i, Vec v, int is_bf16) {
    if (is_bf16) v_store_bf16((bf16 *)row + i, v);
    else v_store((float *)row + i, v);
}

INLINE Vec load_numbers(const char *row, int64_t i, int is_bf16) {
    return is_bf16 ? v_load_bf16((const bf16 *)row + i) : v_load((const float *)row + i);
}

/* Turn the scores of some rows into exponentials, those beyond `count` into 0; inverse: what each
row is to be multiplied with so that it adds up to 1. */
static inline void softmax(float *scores, int64_t rows, int64_t stride, int64_t count, float *inverse) {
    Vec high = v_set(0);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t t = 0; t < count; t += LANES) high = v_max_abs(v_load(scores + r * stride + t), high);
    if (v_any_above(high, v_set(SAFE))) /* seldom: so the largest is found here only */
        for (int64_t r = 0; r < rows; r++) {
            float *row = scores + r * stride, largest = row[0];
            for (int64_t t = 1; t < count; t++) largest = row[t] > largest ? row[t] : largest;
            for (int64_t t = 0; t < count; t++) row[t] -= largest;
        }
    for (int64_t r = 0; r < rows; r++) {
        Vec sum = v_set(0);
        float *row = scores + r * stride;
        int64_t t = 0;
        for (; t + LANES <= count; t += LANES) {
            Vec x = v_exp(v_load(row + t));
            v_store(row + t, x);
            sum = sum + x;
        }
        if (t < count) {
            Vec x = v_first(v_exp(v_load(row + t)), count - t);
            v_store(row + t, x);
            sum = sum + x;
        }
        inverse[r] = v_sum(sum);
    }
    for (int64_t r = 0; r < rows; r += LANES) v_store(inverse + r, v_set(1) / v_load(inverse + r));
}

/* Return the weights of position t for a vector of outputs: those of its head, or of its two. */
INLINE Vec spread_weights(const float *weights, int64_t stride, int64_t width, int64_t i) {
    const float *first = weights + i / width * stride;
#if LANES == 16
    if (width == 8) return _mm512_mask_mov_ps(v_set(*first), 0xff00, v_set(first[stride]));
#endif
    return v_set(*first);
}

/* Multiply queries with the keys of one head at 16 positions. q: rows of floats; on processors with
products of bf16 pairs, rows of such pairs if the keys are bf16. */
INLINE void score_16(const float *q, int64_t q_stride, int queries, const uint32_t *keys,
                     int64_t apart, int64_t units, int is_bf16, float *scores, int64_t stride) {
    Vec sums[QUERIES][PAD / LANES];
    UNROLLED(n, queries)
        UNROLLED(i, PAD / LANES) sums[n][i] = v_set(0);
    for (int64_t u = 0; u < units; u++, keys += apart)
        UNROLLED(i, PAD / LANES) {
            const float *unit = (const float *)keys + i * LANES;
#ifdef __AVX512BF16__
            if (is_bf16) {
                __m512bh pairs = (__m512bh)v_load(unit);
                UNROLLED(n, queries)
                    sums[n][i] = _mm512_dpbf16_ps(sums[n][i], pairs,
                                                  (__m512bh)v_set(q[n * q_stride + u]));
                continue;
            }
#endif
            Vec even = v_load(unit), odd = even;
            if (is_bf16) {
                even = (Vec)((Bits)odd << 16);
                odd = (Vec)((Bits)odd & 0xffff0000);
            }
            UNROLLED(n, queries) {
                const float *at = q + n * q_stride + u * (1 + is_bf16);
                sums[n][i] = even * v_set(at[0]) + sums[n][i];
                if (is_bf16) sums[n][i] = odd * v_set(at[1]) + sums[n][i];
            }
        }
    UNROLLED(n, queries)
        UNROLLED(i, PAD / LANES) v_store(scores + n * stride + i * LANES, sums[n][i]);
}

/* Add up values, each with its weight, for `columns` vectors of outputs of each query, from output i
of some heads on. weights: of these heads, `stride` apart, and of the queries, heads * stride apart;
inverse: what they are to be multiplied with. values: the positions one after another, `row` numbers
each, or slots: where each position lies, in which the outputs begin at number `skip`. */
INLINE void sum_values(const float *weights, int64_t stride, const float *inverse, int64_t heads,
                       int64_t width, int queries, int columns, const char *values, int64_t row,
                       const char *const *slots, int64_t skip, int64_t count, int64_t i, int is_bf16,
                       float *out, int64_t out_stride) {
    Vec sums[QUERIES][2 * COLUMNS];
    UNROLLED(n, queries)
        UNROLLED(c, columns) sums[n][c] = v_set(0);
    for (int64_t t = 0; t < count; t++)
        UNROLLED(c, columns) {
            int64_t at = (slots ? 0 : t * row) + skip + i + c * LANES;
            Vec value = load_numbers(slots ? slots[t] : values, at, is_bf16);
            UNROLLED(n, queries)
                sums[n][c] = value * spread_weights(weights + n * heads * stride + t, stride, width,
                                                    i + c * LANES) + sums[n][c];
        }
    UNROLLED(n, queries)
        UNROLLED(c, columns) {
            Vec factor = spread_weights(inverse + n * heads, 1, width, i + c * LANES);
            v_store(out + n * out_stride + i + c * LANES, sums[n][c] * factor);
        }
}

/* The same for all outputs before `end`, `most` vectors at a time. */
INLINE void sum_all_values(const float *weights, int64_t stride, const float *inverse,
                           int64_t heads, int64_t width, int queries, int most,
                           const char *values, int64_t row, const char *const *slots, int64_t skip,
                           int64_t count, int64_t end, int is_bf16, float *out, int64_t out_stride) {
    int64_t i = 0;
    for (; i + most * LANES <= end; i += most * LANES)
        sum_values(weights, stride, inverse, heads, width, queries, most, values, row, slots, skip,
                   count, i, is_bf16, out, out_stride);
    for (; i < end; i += LANES)
        sum_values(weights, stride, inverse, heads, width, queries, 1, values, row, slots, skip,
                   count, i, is_bf16, out, out_stride);
}

/* Compute attention of `queries` queries over a source, for `group` heads from D number `first` on.
q: as for score_16. */
INLINE void attend_group(const Heads *heads, const float *q, int64_t q_stride, int queries,
                         const char *source, int64_t count, int64_t first, int64_t group, int is_bf16,
                         float *scores, float *inverse, float *out, int64_t out_stride) {
    int64_t padded = round_up(count, PAD), width = heads->width, units = width / (1 + is_bf16);
    int64_t apart = round_up(count, APART);
    const uint32_t *keys = (const uint32_t *)source + first / (1 + is_bf16) * apart;
    for (int64_t h = 0; h < group; h++, keys += units * apart)
        for (int64_t t = 0; t < padded; t += PAD)
            score_16(q + (first + h * width) / (PACKS && is_bf16 ? 2 : 1), q_stride, queries, keys + t,
                     apart, units, is_bf16, scores + h * padded + t, group * padded);
    softmax(scores, queries * group, padded, count, inverse);
    const char *values = source + heads->row * apart * (is_bf16 ? 2 : 4);
    sum_all_values(scores, padded, inverse, group, width, queries, COLUMNS, values, heads->row,
                   NULL, first, count, group * width, is_bf16, out + first, out_stride);
}

/* Add up the weights of a group of heads of a layer that are watched, for queries from n on. */
static inline void keep_weights(const Watched *watched, int32_t layer, const Heads *heads,
                                const float *scores, int64_t first, int64_t group, int64_t count,
                                int64_t n, int64_t queries, const float *inverse) {
    for (int64_t row = 0; row < queries * group; row++)
        for (int32_t k = 0; k < watched->count; k++) {
            int64_t head = first / heads->width + row % group, wanted = watched->heads[2 * k + 1];
            if (watched->heads[2 * k] != layer || head >= heads->heads) continue;
            if (wanted >= 0 && wanted != head) continue;
            float share = inverse[row] / (wanted < 0 ? heads->heads : 1);
            float *to = watched->weights + k * watched->apart + (n + row / group) * watched->stride;
            for (int64_t t = 0; t < count; t++) to[t] += share * scores[row * round_up(count, PAD) + t];
        }
}

/* Return how many heads are computed at once: an even number where two share a vector. */
static inline int64_t count_group(const Heads *heads) { return larger(GROUP / heads->width, 1); }

/* Return the floats of scratch that attention over so many positions needs. */
static inline int64_t count_scores(const Heads *heads, int64_t positions) {
    int64_t all = heads->row / heads->width, group = count_group(heads);
    int64_t once = larger(QUERIES * group, all), packed = QUERIES * heads->row;
    return once * round_up(positions, PAD) + round_up(once, PAD) + packed;
}

/* Compute out = softmax(q Kᵀ) V for the queries of one source. `count`: its positions; watched:
where to add up weights of this layer. */
static inline void attend_source(const Heads *heads, const float *q, int64_t q_stride,
                                 int64_t queries, const char *source, int64_t count,
                                 const Watched *watched, int32_t layer, float *scratch, float *out,
                                 int64_t out_stride) {
    int64_t group = count_group(heads), padded = round_up(count, PAD);
    float *inverse = scratch + QUERIES * group * padded;
    float *packed = inverse + round_up(QUERIES * group, PAD);
    for (int64_t n = 0, together; n < queries; n += together) {
        together = smaller(queries - n, QUERIES);
        const float *these = q + n * q_stride;
        int64_t stride = q_stride;
        if (PACKS && heads->is_bf16) {
            stride = heads->row / 2;
            for (int64_t m = 0; m < together; m++)
                for (int64_t i = 0; i < heads->row; i += LANES)
                    v_store_bf16((bf16 *)(packed + m * stride) + i, v_load(these + m * q_stride + i));
            these = packed;
        }
        for (int64_t first = 0; first < heads->row; first += group * heads->width) {
            int64_t here = smaller(group, (heads->row - first) / heads->width);
#define ATTEND(n_, is_bf16)                                                                        \
    attend_group(heads, these, stride, n_, source, count, first, here, is_bf16, scratch, inverse, \
                 out + n * out_stride, out_stride)
#define EITHER(n_)                      \
    if (heads->is_bf16) ATTEND(n_, 1); \
    else ATTEND(n_, 0);
            WITH_CONSTANT(together, QUERIES, EITHER)
#undef EITHER
#undef ATTEND
            if (watched->count)
                keep_weights(watched, layer, heads, scratch, first, here, count, n, together, inverse);
        }
    }
}

/* Compute the scores of LANES positions for one vector's heads, or for a head of several vectors. */
INLINE void score_slots(const float *q, const char *const *slots, int64_t count, int64_t first,
                        int64_t width, int is_bf16, float *scores, int64_t stride) {
    Vec sums[LANES];
    int64_t numbers = larger(width, LANES);
    UNROLLED(i, LANES) {
        const char *key = slots[smaller(i, count - 1)];
        sums[i] = v_set(0);
        for (int64_t c = 0; c < numbers; c += LANES)
            sums[i] = v_load(q + first + c) * load_numbers(key, first + c, is_bf16) + sums[i];
    }
#if LANES == 16
    if (width == 8) {
        v_sum_halves(sums, scores, scores + stride);
        return;
    }
#endif
    (void)stride;
    v_store(scores, v_sum_each(sums));
}

INLINE void attend_slots_of(const Heads *heads, const float *q, const char *const *slots,
                            int64_t count, int64_t width, int is_bf16, float *scratch, float *out) {
    int64_t padded = round_up(count, PAD), all = heads->row / width, step = larger(width, LANES);
    float *inverse = scratch + all * padded;
    for (int64_t t = 0; t < count; t += LANES)
        for (int64_t i = 0; i < heads->row; i += step)
            score_slots(q, slots + t, count - t, i, width, is_bf16, scratch + i / width * padded + t,
                        padded);
    softmax(scratch, all, padded, count, inverse);
    sum_all_values(scratch, padded, inverse, all, width, 1, 2 * COLUMNS, NULL, 0, slots, heads->row,
                   count, heads->row, is_bf16, out, 0);
}

/* Compute out = softmax(q Kᵀ) V for one query over `count` slots. */
static inline void attend_slots(const Heads *heads, const float *q, const char *const *slots, int64_t count,
                         float *scratch, float *out) {
#define ATTEND(width)                                                                        \
    if (heads->is_bf16) attend_slots_of(heads, q, slots, count, width, 1, scratch, out); \
    else attend_slots_of(heads, q, slots, count, width, 0, scratch, out)
    switch (heads->width) { /* a constant width makes better code */
        case 8: ATTEND(8); break;
        case 32: ATTEND(32); break;
        case 64: ATTEND(64); break;
        default: ATTEND(heads->width);
    }
#undef ATTEND
}

/* Write a row's keys and values, which lie side by side, into a slot. */
static inline void write_slot(const Heads *heads, const float *keys_values, char *slot) {
    for (int64_t i = 0; i < 2 * heads->row; i += LANES)
        store_numbers(slot, i, v_load(keys_values + i), heads->is_bf16);
}

/* Return the bytes of a source of so many positions in one layer. */
static inline int64_t size_source(const Heads *heads, int64_t count) {
    return 2 * heads->row * round_up(count, APART) * bytes_of(heads);
}

/* Write the keys and values of a source's positions, whose rows are `stride` floats apart. `packed`:
scratch for a row. */
static inline void write_source(const Heads *heads, const float *keys_values, int64_t stride,
                                int64_t count, uint32_t *packed, char *source) {
    int64_t apart = round_up(count, APART), row = heads->row, units = row * bytes_of(heads) / 4;
    char *values = source + row * apart * bytes_of(heads);
    uint32_t *keys = (uint32_t *)source;
    for (int64_t t = 0; t < apart; t++) {
        const float *x = keys_values + smaller(t, count - 1) * stride; /* padded with the last */
        for (int64_t i = 0; i < row; i += LANES) {
            store_numbers((char *)packed, i, v_load(x + i), heads->is_bf16);
            store_numbers(values, t * row + i, v_load(x + row + i), heads->is_bf16);
        }
        for (int64_t u = 0; u < units; u++) keys[u * apart + t] = packed[u];
    }
}
