/* Models of random odd shapes, whose tensors lie in memory of exactly their size, and random requests,
wrong ones among them. Built with the sanitizers, it shows what is read or written out of bounds and
what leaks. Prints the number of steps taken and the mean of what came out, which is nearly the same on all
processors.
*/
#include <stdio.h>
#include <stdlib.h>
#include "ensemble.h"
#include "model.h"

enum { TENSORS = 400, ROWS = 64, LENGTH = 24, SOURCES = 5, COMMON = 3,
       MOST = 3 * ROWS, ENOUGH = 8 };

static uint64_t state;

static int32_t draw(int32_t least, int32_t most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + (int32_t)((state >> 33) % (uint64_t)(most - least + 1));
}

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static Tensor tensors[TENSORS];
static char names[TENSORS][80];
static int32_t count;
static double total, numbers;

static void add_up(const float *x, int64_t size) {
    for (int64_t i = 0; i < size; i++) total += fabsf(x[i]);
    numbers += (double)size;
}

static void add(const char *name, int32_t type, int64_t rows, int64_t columns) {
    static const int64_t sizes[] = {4, 2, 2, 1};
    int64_t numbers = rows * (columns ? columns : 1), bytes = numbers * sizes[type];
    char *data = malloc((size_t)bytes);
    check(data && count < TENSORS, "the fuzzer has memory");
    for (int64_t i = 0; i < numbers; i++) {
        float x = (float)draw(-1000, 1000) / 3000;
        bf16 half = (uint16_t)(draw(0, 1) << 15 | draw(0x2000, 0x3700));
        if (type == BF16) memcpy(&half, (char *)&x + 2, 2);
        if (type == F32) memcpy(data + 4 * i, &x, 4);
        else if (type == I8) data[i] = (char)draw(-127, 127);
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

/* One tensor less, or with another shape, type or size, is refused with a reason. */
static void damage(const ModelSettings *settings) {
    char reason[200] = "";
    Tensor copy[TENSORS], *wrong = copy + draw(0, count - 1);
    Model *model;
    memcpy(copy, tensors, sizeof copy);
    switch (draw(0, 4)) {
        case 0: wrong->name = "another"; break;
        case 1: wrong->shape[0] += draw(0, 1) ? 1 : -1; break;
        case 2: wrong->bytes -= 1; break;
        case 3: wrong->type = draw(0, 1) ? 9 : -1; break;
        default: wrong->rank = 3 - wrong->rank; break;
    }
    check(model_open(settings, copy, count, &model, reason, sizeof reason) == GF_BAD_MODEL,
          "a damaged model is refused");
    check(!model && *reason, "with a reason");
    ModelSettings other = *settings;
    other.heads = draw(0, 1) ? 0 : 1 << 30;
    check(model_open(&other, tensors, count, &model, NULL, 0) == GF_BAD_MODEL, "so are settings");
}

/* Give some rows a few tokens each; a row's length in the cache never matters to what is asked. */
static int take_step(Network *network, const ModelSettings *settings, int32_t rows, float *logits,
                     const Shortlist *list) {
    static float weights[2 * MOST * LENGTH];
    float value[MOST * 4], sums[MOST], wanted_logit[MOST];
    Token tokens[MOST];
    int32_t ids[MOST * 4], wanted[MOST], heads[4], given = 0;
    for (int32_t r = 0; r < rows; r++)
        for (int32_t left = draw(0, 3); left; left--, given++) {
            tokens[given] = (Token){r, draw(-(draw(0, 40) == 0), network->vocabulary - 1)};
            wanted[given] = draw(-(draw(0, 400) == 0), network->vocabulary - 1);
        }
    int32_t size = (int32_t)smaller(draw(0, 4), network->vocabulary);
    Best best = {size, draw(0, network->vocabulary - size), value, ids, sums, wanted, wanted_logit};
    for (int i = 0; i < 4; i += 2) heads[i] = draw(0, settings->decoder_layers - 1);
    for (int i = 1; i < 4; i += 2) heads[i] = draw(-1, settings->heads - 1);
    Watched watched = {draw(0, 2), heads, weights, LENGTH, (int64_t)given * LENGTH};
    if (list) best.first = draw(0, ENOUGH - best.size);
    int gives_all = draw(0, 1), error;
    memset(weights, 0, sizeof weights);
    if (draw(0, 1)) best.wanted = NULL;
    error = network->step(network->self, given, tokens, gives_all ? logits : NULL,
                          gives_all ? NULL : &best, draw(0, 1) ? &watched : NULL);
    if (error) return error;
    if (gives_all) add_up(logits, (int64_t)given * network->vocabulary);
    else add_up(sums, given), add_up(value, given * size);
    if (!gives_all && best.wanted) add_up(wanted_logit, given);
    add_up(weights, watched.count * watched.apart);
    return GF_OK;
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

static int32_t search(Network *network, const ModelSettings *settings, const Shortlist *list) {
    int32_t rows = 0, beams = 1, steps = 0, kept[ROWS];
    float *logits = malloc(sizeof(float) * MOST * (size_t)network->vocabulary);
    check(logits != NULL, "the fuzzer has memory");
    for (int turn = 0; turn < 60; turn++) {
        int32_t ids[SOURCES * LENGTH], sources = draw(0, SOURCES);
        Text texts[SOURCES];
        switch (draw(0, 5)) {
            case 0:
                if (rows + sources * beams > ROWS) break;
                for (int32_t b = 0; b < sources; b++) texts[b] = (Text){ids + b * LENGTH, draw(1, LENGTH), list};
                for (int32_t i = 0; i < sources * LENGTH; i++) ids[i] = draw(0, settings->source_vocabulary - 1);
                check(!network->admit(network->self, sources, texts, beams), "admit");
                rows += sources * beams;
                break;
            case 1: { /* some sentences, with another number of hypotheses */
                int32_t more = draw(1, 4), n = 0;
                for (int32_t b = 0; b < rows / beams; b++)
                    for (int32_t i = 0; i < more && n < ROWS && draw(0, 3); i++)
                        kept[n++] = b * beams + draw(0, beams - 1);
                if (n % more || network->keep(network->self, n, kept, more)) break;
                rows = n, beams = n ? more : 1;
                break;
            }
            case 2:
                if (draw(0, 3)) break;
                network->clear(network->self);
                rows = 0, beams = 1;
                break;
            default: steps += rows && take_step(network, settings, rows, logits, list) == GF_OK;
        }
    }
    free(logits);
    return steps;
}

/* Arguments: the number of models, then a part of them and the number of parts. Every part has the
first COMMON models; the mean of what comes out of those is printed. */
int main(int arguments, char **argument) {
    int32_t models = arguments > 1 ? atoi(argument[1]) : 1, steps = 0;
    int32_t part = arguments > 2 ? atoi(argument[2]) : 0, parts = arguments > 3 ? atoi(argument[3]) : 1;
    double mean = 0;
    for (int32_t i = 0; i < models; i++) {
        if (i == COMMON) mean = total / numbers;
        if (i >= COMMON && i % parts != part) continue;
        char reason[200] = "";
        Model *model;
        Network networks[2];
        state = (uint64_t)i;
        count = 0;
        ModelSettings settings = draw_model();
        int error = model_open(&settings, tensors, count, &model, reason, sizeof reason);
        check(error == GF_OK, reason);
        damage(&settings);
        for (int32_t t = 0; t < count; t++) free((void *)tensors[t].data); /* packed: not needed now */
        for (int n = 0; n < 2; n++) check(!network_open(model, networks + n), "open");
        for (int n = 0; n < 2; n++) steps += search(networks + n, &settings, NULL);
        if (i >= COMMON && networks->vocabulary >= ENOUGH && !model_list_outputs(model)) {
            Shortlist list = draw_list(settings.source_vocabulary, networks->vocabulary);
            networks->clear(networks->self);
            search(networks, &settings, &list);
            free((void *)list.starts), free((void *)list.ids);
        }
        if (i >= COMMON) {
            Network both;
            for (int n = 0; n < 2; n++) networks[n].clear(networks[n].self);
            check(!ensemble_open(2, networks, &both), "open");
            search(&both, &settings, NULL);
            ensemble_close(&both);
        }
        for (int n = 0; n < 2; n++) network_close(networks + n);
        model_close(model);
    }
    printf("%d %.9g\n", steps, mean);
    return 0;
}
