/* Models of random odd shapes, whose tensors lie in memory of exactly their size, and short-lists. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include "ensemble.h"
#include "model.h"

enum { TENSORS = 400, ROWS = 64, LENGTH = 24, SOURCES = 5, COMMON = 3,
       MOST = 3 * ROWS, ENOUGH = 8 };

static uint64_t state;
static const uint8_t *given, *given_end; /* the input of a fuzzer; without one, numbers are random */

static int32_t draw_random(int32_t least, int32_t most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + (int32_t)((state >> 33) % (uint64_t)((int64_t)most - least + 1));
}

/* Draw a number; behind the end of the fuzzer's input it is the least. */
static int32_t draw(int32_t least, int32_t most) {
    if (!given) return draw_random(least, most);
    uint64_t range = (uint64_t)((int64_t)most - least + 1), number = 0;
    for (uint64_t all = 1; all < range && given < given_end; all *= 256) number = number * 256 + *given++;
    return (int32_t)(least + (int64_t)(number % range));
}

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static Tensor tensors[TENSORS];
static char names[TENSORS][80];
static int32_t count;

static void add(const char *name, int32_t type, int64_t rows, int64_t columns) {
    static const int64_t sizes[] = {4, 2, 2, 1};
    int64_t numbers = rows * (columns ? columns : 1), bytes = numbers * sizes[type];
    char *data = malloc((size_t)bytes);
    check(data && count < TENSORS, "the fuzzer has memory");
    for (int64_t i = 0; i < numbers; i++) {
        float x = (float)draw_random(-1000, 1000) / 3000;
        bf16 half = (uint16_t)(draw_random(0, 1) << 15 | draw_random(0x2000, 0x3700));
        if (type == BF16) memcpy(&half, (char *)&x + 2, 2);
        if (type == F32) memcpy(data + 4 * i, &x, 4);
        else if (type == I8) data[i] = (char)draw_random(-127, 127);
        else memcpy(data + 2 * i, &half, 2);
    }
    snprintf(names[count], sizeof names[count], "%s", name);
    tensors[count] = (Tensor){names[count], data, bytes, type, columns ? 2 : 1, {rows, columns}};
    count++;
    if (type != I8) return;
    char scale[80];
    snprintf(scale, sizeof scale, "%.70s.scale", name);
    add(scale, F32, rows, 0);
}

static void add_map(const char *layer, const char *name, int64_t outputs, int64_t inputs) {
    char full[80];
    snprintf(full, sizeof full, "%s.%s.weight", layer, name);
    add(full, draw(F32, I8), outputs, inputs);
    snprintf(full, sizeof full, "%s.%s.bias", layer, name);
    add(full, draw(F32, BF16), outputs, 0);
}

static void add_norm(const char *layer, const char *name, int64_t width) {
    char full[80];
    snprintf(full, sizeof full, "%s%s.weight", layer, name);
    add(full, F32, width, 0);
    snprintf(full, sizeof full, "%s%s.bias", layer, name);
    add(full, F32, width, 0);
}

static void add_stack(const ModelSettings *s, const char *side, int32_t layers, int is_decoder) {
    static const char *const kinds[] = {"self_attention", "cross_attention"};
    int64_t all = (int64_t)s->heads * s->head_width;
    for (int32_t l = 0; l < layers; l++) {
        char layer[40], name[60];
        snprintf(layer, sizeof layer, "%s.%d", side, (int)l);
        int is_ssru = is_decoder && s->decoder == SSRU;
        if (is_ssru) {
            add_map(layer, "ssru.to_forget", s->d_model, s->d_model);
            char full[80];
            snprintf(full, sizeof full, "%s.ssru.to_candidate.weight", layer);
            add(full, draw(F32, I8), s->d_model, s->d_model);
            add_norm(layer, ".ssru_residual.norm", s->d_model);
        }
        for (int kind = is_ssru; kind <= is_decoder; kind++) {
            static const char *const maps[] = {"to_query", "to_key", "to_value"};
            for (int i = 0; i < 3; i++) {
                snprintf(name, sizeof name, "%s.%s", kinds[kind], maps[i]);
                add_map(layer, name, all, s->d_model);
            }
            snprintf(name, sizeof name, "%s.to_output", kinds[kind]);
            add_map(layer, name, s->d_model, all);
            snprintf(name, sizeof name, ".%s_residual.norm", kinds[kind]);
            add_norm(layer, name, s->d_model);
        }
        add_map(layer, "feed_forward.inner", s->d_ff, s->d_model);
        add_map(layer, "feed_forward.outer", s->d_model, s->d_ff);
        add_norm(layer, ".feed_forward_residual.norm", s->d_model);
    }
}

static ModelSettings draw_model(void) {
    static const int32_t widths[] = {1, 3, 7, 8, 16, 17, 48, 64, 130};
    ModelSettings s = {
        .precision = draw(FP32, INT8), .d_model = 2 * draw(1, 40), .d_ff = draw(1, 90),
        .heads = draw(1, 5), .head_width = widths[draw(0, 8)], .encoder_layers = draw(1, 2),
        .decoder_layers = draw(1, 2), .is_pre_norm = draw(0, 1), .activation = draw(RELU, GELU),
        .tie = draw(THREE_WAY, UNTIED), .output_bias = draw(0, 1),
        .positions = draw(INTERLEAVED, LEARNED), .grid = draw(0, 1), .offset = draw(0, 3),
        .max_positions = LENGTH, .source_vocabulary = draw(1, 60), .amplitude = 1,
        .decoder = draw(ATTENTION, SSRU), .norm_epsilon = 1e-5};
    s.target_vocabulary = s.tie == THREE_WAY ? s.source_vocabulary : draw(1, 1100);
    add("source_embedding.table.weight", draw(F32, I8), s.source_vocabulary, s.d_model);
    if (s.tie != THREE_WAY) add("target_embedding.table.weight", F32, s.target_vocabulary, s.d_model);
    if (s.tie == UNTIED) add("output_table.weight", draw(F32, I8), s.target_vocabulary, s.d_model);
    if (s.output_bias) add("output_bias", F32, s.target_vocabulary, 0);
    if (s.positions == LEARNED) {
        add("source_embedding.positions_LD", F16, LENGTH, s.d_model);
        add("target_embedding.positions_LD", F32, LENGTH, s.d_model);
    }
    add_stack(&s, "encoder", s.encoder_layers, 0);
    add_stack(&s, "decoder", s.decoder_layers, 1);
    if (s.is_pre_norm) add_norm("encoder_norm", "", s.d_model);
    if (s.is_pre_norm) add_norm("decoder_norm", "", s.d_model);
    return s;
}

/* Draw a short-list, of which each source has ENOUGH candidates. */
static Shortlist draw_list(int32_t tokens, int32_t vocabulary) {
    int32_t *starts = malloc(sizeof(int32_t) * (size_t)(tokens + 2)), size = 0;
    for (int32_t row = 0; row < tokens; row++) starts[row] = size, size += draw(0, 5);
    starts[tokens] = size, size += ENOUGH, starts[tokens + 1] = size;
    int32_t *ids = malloc(sizeof(int32_t) * (size_t)size);
    check(starts && ids, "the fuzzer has memory");
    for (int32_t i = 0; i < size; i++) ids[i] = draw(0, vocabulary - 1);
    for (int32_t i = 0; i < ENOUGH; i++) ids[starts[tokens] + i] = i;
    return (Shortlist){starts, ids, tokens};
}
