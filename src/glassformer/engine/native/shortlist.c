/* Candidates and their logits: see shortlist.h. */
#include "shortlist.h"
#include <string.h>
#include "gemm_int8.h"

enum { CONTROLS = 3 }; /* PAD, BOS and EOS are candidates of every sentence, so that they come first */

int are_ids_within(const int32_t *ids, int64_t count, int32_t end) {
    int32_t is_wrong = 0;
    for (int64_t i = 0; i < count; i++) is_wrong |= (ids[i] < 0) | (ids[i] >= end);
    return !is_wrong;
}

int32_t mark_candidates(const Text *text, uint8_t *marks) {
    const Shortlist *list = text->shortlist;
    memset(marks, 1, CONTROLS);
    int32_t count = CONTROLS;
    for (int32_t i = 0; i <= text->size; i++) {
        int32_t row = i < text->size ? text->ids[i] : list->tokens;
        for (int32_t p = list->starts[row]; p < list->starts[row + 1]; p++) {
            count += !marks[list->ids[p]];
            marks[list->ids[p]] = 1;
        }
    }
    return count;
}

void list_candidates(uint8_t *marks, const Model *model, const Source *source) {
    static const uint8_t none[PAD];
    const Linear *map = &model->project;
    int64_t padded = round_up(source->count, PAD), c = 0;
    float *scale = (float *)(source->candidates + padded), *bias = scale + padded, *offset = bias + padded;
    for (int32_t first = 0; first < map->outputs; first += PAD) {
        if (!memcmp(marks + first, none, PAD)) continue;
        for (int32_t id = first; id < first + PAD; id++)
            if (marks[id]) source->candidates[c++] = id;
        memset(marks + first, 0, PAD);
    }
    for (; c < padded; c++) source->candidates[c] = 0;
    for (c = 0; c < padded; c++) {
        int32_t id = source->candidates[c];
        scale[c] = map->scale[id], bias[c] = map->bias[id], offset[c] = (float)map->offset[id];
    }
}

/* Compute the sums of products of a row of bytes with LANES rows of weights. */
INLINE Vec multiply_rows(const uint8_t *bytes, const int8_t *const *weights, int64_t inputs) {
    Vec sums[LANES];
#if LANES > 4 || FLIP
    Ints all[LANES];
    UNROLLED(r, LANES) all[r] = (Ints){0};
    for (int64_t k = 0; k < inputs; k += 4 * LANES) {
        Ints x = load_ints(bytes + k);
        UNROLLED(r, LANES) all[r] = add_fours(all[r], x, load_ints(weights[r] + k));
    }
    UNROLLED(r, LANES) sums[r] = __builtin_convertvector(all[r], Vec);
#else
    UNROLLED(r, LANES) {
        int32_t sum = 0;
        for (int64_t k = 0; k < inputs; k++) sum += bytes[k] * weights[r][k];
        sums[r] = (Vec){(float)sum};
    }
#endif
    return v_sum_each(sums);
}

void predict_candidates(const Model *model, const Source *source, int32_t from, int32_t end,
                        const Rows *rows, int64_t count, float *logits, int64_t stride) {
    int64_t padded = round_up(source->count, PAD), inputs = model->project.inputs;
    const float *scale = (const float *)(source->candidates + padded), *bias = scale + padded;
    for (int32_t c = from; c < end; c += LANES) {
        const int8_t *weights[LANES];
        for (int i = 0; i < LANES; i++) weights[i] = model->outputs + source->candidates[c + i] * inputs;
        Factors factors = {v_load(scale + c), v_load(bias + c)};
        Vec offset = v_load(bias + padded + c);
        for (int64_t r = 0; r < count; r++) {
            Vec sums = multiply_rows(rows->bytes + r * rows->stride, weights, inputs);
            finish(sums + offset, factors, rows->scale[r], 0, logits + r * stride + c - from);
        }
    }
}
