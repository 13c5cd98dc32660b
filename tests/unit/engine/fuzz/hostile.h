/* What the entries of the fuzzer share: models, texts and numbers as its input says, hostile ones
among them. Each entry is a file with LLVMFuzzerTestOneInput. */
#pragma once
#include "../drawn_model.h"
#include "api.h"

enum { NETWORKS = 3, LONGEST = 2 * LENGTH };

static Model *model;
static Network networks[NETWORKS];
static Pool *pool;
static Shortlist list;

/* Begin with an input; the weights are random, but always the same for the same input. */
static void begin(const uint8_t *data, size_t size) {
    given = data, given_end = data + size;
    state = size, count = 0;
}

/* Draw a number of this range, or now and then one far from it. */
static int32_t draw_hostile(int32_t least, int32_t most) {
    static const int32_t far[] = {-1, 0, 1, 255, 65536, 1 << 24, INT32_MAX / 4, INT32_MAX - 1,
                                  INT32_MAX, INT32_MIN};
    return draw(0, 15) ? draw(least, most) : far[draw(0, 9)];
}

static double draw_hostile_double(void) {
    static const double all[] = {1, 0.5, 0, -1, 1e-5, 1e300, 1e-300, -0.0, INFINITY, NAN};
    return draw(0, 3) ? all[draw(0, 1)] : all[draw(0, 9)];
}

/* Write numbers that no training leaves into some tensors. */
static void spoil_numbers(void) {
    static const float all[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f, 0};
    for (int32_t left = draw(0, 3); left; left--) {
        const Tensor *x = tensors + draw(0, count - 1);
        float number = all[draw(0, 6)];
        int64_t at = draw(0, 255), step = draw(1, 9), bytes = x->type == F32 ? 4 : x->type == I8 ? 1 : 2;
        for (; (at + 1) * bytes <= x->bytes; at += step)
            memcpy((char *)x->data + at * bytes, (char *)&number + 4 - bytes, (size_t)bytes);
    }
}

static void free_tensors(void) {
    for (int32_t t = 0; t < count; t++) free((void *)tensors[t].data);
}

/* Open a model that is right, but for its numbers; some short-list beside it; and networks. */
static ModelSettings open_all(void) {
    char reason[200] = "";
    ModelSettings settings = draw_model();
    spoil_numbers();
    int error = model_open(&settings, tensors, count, &model, reason, sizeof reason);
    check(error == GF_OK, reason);
    free_tensors();
    list = (Shortlist){0};
    if (settings.target_vocabulary >= ENOUGH && draw(0, 1) && model_list_outputs(model) == GF_OK)
        list = draw_list(settings.source_vocabulary, settings.target_vocabulary);
    for (int n = 0; n < NETWORKS; n++) check(!network_open(model, networks + n), "open");
    if (!pool) check(!pool_open(NETWORKS, &pool), "there are threads");
    return settings;
}

static void close_all(void) {
    for (int n = 0; n < NETWORKS; n++) network_close(networks + n);
    model_close(model);
    free((void *)list.starts), free((void *)list.ids);
}

/* The sentences of a batch, in memory of exactly their size. */
typedef struct {
    Batch batch;
    int32_t *sources, *prefixes, *limits;
    int64_t *source_starts, *prefix_starts;
    uint64_t *lines;
} Drawn;

static int32_t *draw_ids(int64_t size, int32_t vocabulary) {
    int32_t *ids = malloc(sizeof *ids * (size_t)(size + !size));
    check(ids != NULL, "the fuzzer has memory");
    int is_hostile = !draw(0, 7);
    for (int64_t i = 0; i < size; i++)
        ids[i] = is_hostile ? draw(-1, vocabulary) : draw(0, vocabulary - 1);
    return ids;
}

static int64_t *draw_starts(int32_t sentences, int32_t least) {
    int64_t *starts = malloc(sizeof *starts * (size_t)(sentences + 1)), all = 0;
    check(starts != NULL, "the fuzzer has memory");
    int32_t most = draw(0, 7) ? LENGTH / 3 : draw(0, 3) ? LENGTH : LONGEST;
    for (int32_t i = 0; i <= sentences; i++) starts[i] = all, all += draw(least, most);
    return starts;
}

static Drawn draw_batch(const ModelSettings *settings) {
    int32_t sentences = draw(0, 7);
    Drawn x = {.source_starts = draw_starts(sentences, draw(0, 31) ? 1 : 0),
               .prefix_starts = draw_starts(sentences, 0)};
    if (draw(0, 1)) memset(x.prefix_starts, 0, sizeof(int64_t) * (size_t)(sentences + 1));
    x.sources = draw_ids(x.source_starts[sentences], settings->source_vocabulary);
    x.prefixes = draw_ids(x.prefix_starts[sentences], settings->target_vocabulary);
    x.limits = malloc(sizeof(int32_t) * (size_t)(sentences + 1));
    x.lines = malloc(sizeof(uint64_t) * (size_t)(sentences + 1));
    check(x.limits && x.lines, "the fuzzer has memory");
    int is_hostile = !draw(0, 7);
    for (int32_t i = 0; i < sentences; i++) {
        int64_t prefix = x.prefix_starts[i + 1] - x.prefix_starts[i];
        int32_t right = (int32_t)smaller(prefix + draw(1, 9), LENGTH);
        x.limits[i] = is_hostile ? draw_hostile(0, LENGTH + 1) : right;
        x.lines[i] = (uint64_t)draw_hostile(0, 9);
    }
    x.batch = (Batch){sentences, x.sources, x.prefixes, x.source_starts, x.prefix_starts,
                      x.limits, x.lines, list.ids ? &list : NULL};
    return x;
}

static void free_batch(Drawn *x) {
    free(x->sources), free(x->prefixes), free(x->source_starts), free(x->prefix_starts);
    free(x->limits), free(x->lines);
}
