/* Models of random odd shapes, whose tensors lie in memory of exactly their size, and random requests,
wrong ones among them. Built with the sanitizers, it shows what is read or written out of bounds and
what leaks. Prints the number of steps taken and the mean of what came out, which is nearly the same on all
processors.
*/
#include "drawn_model.h"

static double total, numbers;

static void add_up(const float *x, int64_t size) {
    for (int64_t i = 0; i < size; i++) total += fabsf(x[i]);
    numbers += (double)size;
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
